package web

import (
	"net/http"
	"net/url"
	"strings"
)

// maxPathValues is how many variable segments a path may have; ours have two at most.
const maxPathValues = 2

// router finds the resource of a path. A literal segment goes before a variable one, and that before a variable such as
// {path...}, which is the rest of the path.
type router struct{ root node }

// node is a segment of paths.
type node struct {
	literal   map[string]*node
	variable  *node
	remaining *node     // matches all segments that are left
	resource  *resource // of the path that ends here; nil for none
	names     []string  // of the variables in that path
}

// add registers the path of a resource.
func (rt *router) add(res *resource) {
	n, names := &rt.root, []string(nil)
	for segment := range strings.SplitSeq(res.routes[0].Path[1:], "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name, whole := strings.CutSuffix(strings.TrimSuffix(name, "}"), "...")
			names = append(names, name)
			next := &n.variable
			if whole {
				next = &n.remaining
			}
			if *next == nil {
				*next = &node{}
			}
			n = *next
			continue
		}
		if n.literal == nil {
			n.literal = map[string]*node{}
		}
		if n.literal[segment] == nil {
			n.literal[segment] = &node{}
		}
		n = n.literal[segment]
	}
	if n.resource != nil || len(names) > maxPathValues {
		panic("web: " + res.routes[0].Path + " is registered twice or has too many variables") // a mistake in a route table
	}
	n.resource, n.names = res, names
}

// find returns the resource of the request's path, or nil, and stores the values of the path's variables in the
// request.
func (rt *router) find(r *Request) *resource {
	u := r.http.URL
	path, escaped := u.Path, u.RawPath != ""
	if escaped {
		path = u.EscapedPath() // so that an escaped slash stays inside its segment
	}
	found := rt.root.find(path[1:], escaped, r.pathValues[:0])
	if found == nil {
		return nil
	}
	r.pathNames = found.names
	return found.resource
}

// find matches the rest of a path. Values of variables are appended to values, whose array the request owns.
func (n *node) find(path string, escaped bool, values []string) *node {
	segment, rest, more := strings.Cut(path, "/")
	if segment == "" {
		return nil
	}
	segment, ok := unescape(segment, escaped)
	if !ok {
		return nil
	}
	if next := n.literal[segment]; next != nil {
		if found := next.rest(rest, more, escaped, values); found != nil {
			return found
		}
	}
	if len(values) == maxPathValues {
		return nil
	}
	if n.variable != nil {
		if found := n.variable.rest(rest, more, escaped, append(values, segment)); found != nil {
			return found
		}
	}
	if path, ok = unescape(path, escaped); ok && n.remaining != nil {
		return n.remaining.rest("", false, escaped, append(values, path))
	}
	return nil
}

func unescape(text string, escaped bool) (plain string, ok bool) {
	if !escaped {
		return text, true
	}
	plain, err := url.PathUnescape(text)
	return plain, err == nil
}

func (n *node) rest(rest string, more, escaped bool, values []string) *node {
	if more {
		return n.find(rest, escaped, values)
	}
	if n.resource == nil {
		return nil
	}
	return n
}

// cleanPath reports whether a path begins with a slash and has no empty or dot segment.
func cleanPath(r *http.Request) bool {
	if p := r.URL.Path; !strings.Contains(p, "//") && !strings.Contains(p, "/.") {
		return strings.HasPrefix(p, "/")
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/") {
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") { // an escaped dot means the same
		case "", ".", "..":
			return false
		}
	}
	return true
}
