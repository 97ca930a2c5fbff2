package web

// NodeRole is what a node of an installation does.
type NodeRole string

// The roles of nodes. One machine does all; an installation of several has one or two nodes that publish and any number
// that read.
const (
	NodeAll     NodeRole = "all"
	NodeRead    NodeRole = "read"
	NodePublish NodeRole = "publish"
)

// NodeRoles lists the roles.
var NodeRoles = []NodeRole{NodeAll, NodeRead, NodePublish}

// Reads reports whether such a node serves the API.
func (r NodeRole) Reads() bool { return r != NodePublish }

// Publishes reports whether such a node computes and publishes values.
func (r NodeRole) Publishes() bool { return r != NodeRead }
