package assay

// NodeRole is what a node of an installation is there for.
type NodeRole string

// The roles of nodes. One machine does all; an installation of several has one or two nodes that publish and any number
// that read.
const (
	RoleAll     NodeRole = "all"
	RoleRead    NodeRole = "read"
	RolePublish NodeRole = "publish"
)

// NodeRoles lists the roles.
var NodeRoles = []NodeRole{RoleAll, RoleRead, RolePublish}

// Reads tells whether such a node answers the API.
func (r NodeRole) Reads() bool { return r != RolePublish }

// Publishes tells whether such a node determines and publishes values.
func (r NodeRole) Publishes() bool { return r != RoleRead }
