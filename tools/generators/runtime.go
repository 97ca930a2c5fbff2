// Package generators is the module of oapi-codegen and of what it generates.
package generators

import _ "github.com/oapi-codegen/runtime" // what generated clients import
