// The SDK has no Go code. This file keeps the go command out of node_modules, where npm packages may have some.
module github.com/assaydata/assay/sdk/typescript

go 1.26
