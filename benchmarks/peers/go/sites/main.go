// A server of Sites and ConfigMaps, and of nothing else, which costs hardly more than its sockets do.
//
// It serves lists, watches (also streamed lists), gets, server-side applies of ConfigMaps and merge patches of the status
// of Sites. Each write is an event for every watch of its kind; events that wait for one watch are sent together.
// Nothing is checked. A program that works against it is its own limit, as it is against a server on another machine.
//
//	sites OBJECTS KUBECONFIG    writes the kubeconfig, prints the address, and serves until it is ended
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

const created = "2026-01-01T00:00:00Z"

// object is one Site or ConfigMap.
type object struct {
	name, uid string
	version   int
	owners    json.RawMessage // metadata.ownerReferences
	parts     map[string]json.RawMessage
}

// collection has the objects of one kind in the namespace "default".
type collection struct {
	apiVersion, kind string
	fields           []string // of an object, beside its metadata
	objects          map[string]*object
	order            []string
	watches          map[*watch]bool
}

// watch is one watch: events that were not sent yet, and whether it wants metadata only.
type watch struct {
	partial bool
	mutex   sync.Mutex
	wake    *sync.Cond
	pending []byte
	closed  bool
}

// request is what is read of an HTTP request.
type request struct {
	method, path, accept string
	query                url.Values
	body                 []byte
}

type server struct {
	mutex sync.Mutex
	last  int
	sites *collection
	maps  *collection
}

func (c *collection) append(to []byte, o *object, partial bool) []byte {
	if partial {
		to = append(to, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"`...)
	} else {
		to = fmt.Appendf(to, `{"kind":"%s","apiVersion":"%s","metadata":{"name":"`, c.kind, c.apiVersion)
	}
	to = append(to, o.name...)
	to = append(to, `","namespace":"default","uid":"`...)
	to = append(to, o.uid...)
	to = append(to, `","resourceVersion":"`...)
	to = strconv.AppendInt(to, int64(o.version), 10)
	to = append(to, `","creationTimestamp":"`+created+`"`...)
	if c.kind == "Site" {
		to = append(to, `,"generation":1`...)
	} else {
		to = append(to, `,"managedFields":[{"manager":"sites","operation":"Apply","apiVersion":"v1","time":"`+created+
			`","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:index.html":{},"f:turn":{}}}}]`...)
	}
	if len(o.owners) > 0 {
		to = append(to, `,"ownerReferences":`...)
		to = append(to, o.owners...)
	}
	to = append(to, '}')
	for _, field := range c.fields {
		if part := o.parts[field]; len(part) > 0 && !partial {
			to = append(to, `,"`...)
			to = append(to, field...)
			to = append(to, `":`...)
			to = append(to, part...)
		}
	}
	return append(to, '}')
}

func (c *collection) event(to []byte, kind string, o *object, partial bool) []byte {
	to = append(to, `{"type":"`...)
	to = append(to, kind...)
	to = append(to, `","object":`...)
	to = c.append(to, o, partial)
	return append(to, "}\n"...)
}

func chunk(to, data []byte) []byte {
	to = strconv.AppendInt(to, int64(len(data)), 16)
	to = append(to, "\r\n"...)
	to = append(to, data...)
	return append(to, "\r\n"...)
}

func (w *watch) send(data []byte) {
	w.mutex.Lock()
	w.pending = chunk(w.pending, data)
	w.mutex.Unlock()
	w.wake.Signal()
}

// tell stores the next version of an object and sends it to the watches.
func (s *server) tell(c *collection, o *object, kind string) {
	s.last++
	o.version = s.last
	var whole, partial []byte
	for w := range c.watches {
		line := &whole
		if w.partial {
			line = &partial
		}
		if *line == nil {
			*line = c.event(nil, kind, o, w.partial)
		}
		w.send(*line)
	}
}

// list is a page: at most limit objects (0: all) from the one with the number first on. Objects are never deleted, so
// the number of the next one is a continue token.
func (s *server) list(c *collection, partial bool, limit, first int) []byte {
	kind, apiVersion := c.kind+"List", c.apiVersion
	if partial {
		kind, apiVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	names, more := c.order[min(first, len(c.order)):], ""
	if limit > 0 && limit < len(names) {
		names, more = names[:limit], fmt.Sprintf(`,"continue":"%d"`, first+limit)
	}
	made := fmt.Appendf(nil, `{"kind":"%s","apiVersion":"%s","metadata":{"resourceVersion":"%d"%s},"items":[`, kind, apiVersion, s.last, more)
	for number, name := range names {
		if number > 0 {
			made = append(made, ',')
		}
		made = c.append(made, c.objects[name], partial)
	}
	return append(made, "]}"...)
}

// apply creates or changes a ConfigMap.
func (s *server) apply(c *collection, name string, body []byte) ([]byte, error) {
	var sent struct {
		Metadata struct {
			OwnerReferences json.RawMessage `json:"ownerReferences"`
		} `json:"metadata"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	o, kind := c.objects[name], "MODIFIED"
	if o == nil {
		kind = "ADDED"
		o = &object{name: name, uid: uid(len(c.order), 2), parts: map[string]json.RawMessage{}}
		c.objects[name] = o
		c.order = append(c.order, name)
	}
	if kind == "ADDED" || !bytes.Equal(o.parts["data"], sent.Data) || !bytes.Equal(o.owners, sent.Metadata.OwnerReferences) {
		o.parts["data"], o.owners = sent.Data, sent.Metadata.OwnerReferences
		s.tell(c, o, kind)
	}
	return c.append(nil, o, false), nil
}

// status merges a patch into the status of a Site.
func (s *server) status(c *collection, name string, body []byte) ([]byte, error) {
	var sent struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	o := c.objects[name]
	if o == nil {
		return nil, nil
	}
	status := map[string]json.RawMessage{}
	if part := o.parts["status"]; len(part) > 0 {
		if err := json.Unmarshal(part, &status); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	for field, value := range sent.Status {
		status[field] = value
	}
	made, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(made, o.parts["status"]) {
		o.parts["status"] = made
		s.tell(c, o, "MODIFIED")
	}
	return c.append(nil, o, false), nil
}

func uid(number, kind int) string {
	return fmt.Sprintf("9f0c3a52-6f0f-4b8e-9d1%x-%012d", kind, number)
}

func (s *server) collection(path string) (*collection, string) {
	if rest, found := strings.CutPrefix(path, "/apis/bench.example.com/v1/namespaces/default/sites"); found {
		return s.sites, rest
	}
	if rest, found := strings.CutPrefix(path, "/api/v1/namespaces/default/configmaps"); found {
		return s.maps, rest
	}
	return nil, ""
}

// answer is the status and the body for a request that is not a watch.
func (s *server) answer(r *request, partial bool) (string, []byte) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	missing := []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	c, rest := s.collection(r.path)
	if c == nil {
		return "404 Not Found", missing
	}
	if rest == "" {
		limit, _ := strconv.Atoi(r.query.Get("limit"))
		first, _ := strconv.Atoi(r.query.Get("continue"))
		return "200 OK", s.list(c, partial, limit, first)
	}
	name, subresource, _ := strings.Cut(rest[1:], "/")
	var made []byte
	var err error
	switch {
	case r.method == "PATCH" && c == s.maps:
		made, err = s.apply(c, name, r.body)
	case r.method == "PATCH" && subresource == "status":
		made, err = s.status(c, name, r.body)
	case r.method == "GET" && c.objects[name] != nil:
		made = c.append(nil, c.objects[name], partial)
	}
	if err != nil {
		return "400 Bad Request", []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400}`)
	}
	if made == nil {
		return "404 Not Found", missing
	}
	return "200 OK", made
}

// begin sends the whole state, or what is newer than the version that the client has, and then every event.
func (s *server) begin(connection net.Conn, c *collection, r *request, partial bool) {
	w := &watch{partial: partial}
	w.wake = sync.NewCond(&w.mutex)
	streams := r.query.Has("sendInitialEvents")
	since, err := strconv.Atoi(r.query.Get("resourceVersion"))
	if err != nil || streams {
		since = 0
	}
	kind := "MODIFIED"
	if since == 0 {
		kind = "ADDED"
	}
	s.mutex.Lock()
	for _, name := range c.order {
		if o := c.objects[name]; o.version > since {
			w.send(c.event(nil, kind, o, partial))
		}
	}
	if streams {
		w.send(fmt.Appendf(nil, `{"type":"BOOKMARK","object":{"kind":"%s","apiVersion":"%s","metadata":{"resourceVersion":"%d",`+
			`"creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", c.kind, c.apiVersion, s.last))
	}
	c.watches[w] = true
	s.mutex.Unlock()
	go func() { // the connection's end
		_, _ = io.Copy(io.Discard, connection)
		s.mutex.Lock()
		delete(c.watches, w)
		s.mutex.Unlock()
		w.mutex.Lock()
		w.closed = true
		w.mutex.Unlock()
		w.wake.Signal()
	}()
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n"
	if _, err := io.WriteString(connection, head); err != nil {
		return
	}
	var sending []byte
	for {
		w.mutex.Lock()
		for len(w.pending) == 0 && !w.closed {
			w.wake.Wait()
		}
		sending, w.pending = w.pending, sending[:0]
		closed := w.closed
		w.mutex.Unlock()
		if closed {
			return
		}
		if _, err := connection.Write(sending); err != nil {
			return
		}
	}
}

func read(from *bufio.Reader) (*request, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return nil, err
	}
	words := strings.Fields(line)
	if len(words) != 3 {
		return nil, fmt.Errorf("not a request: %q", line)
	}
	path, query, _ := strings.Cut(words[1], "?")
	r := &request{method: words[0], path: path}
	if query != "" {
		if r.query, err = url.ParseQuery(query); err != nil {
			return nil, err
		}
	}
	length := 0
	for {
		header, err := from.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if len(header) <= 2 {
			break
		}
		name, value, _ := bytes.Cut(header, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, err
			}
		case bytes.EqualFold(name, []byte("accept")):
			r.accept = string(value)
		}
	}
	r.body = make([]byte, length)
	_, err = io.ReadFull(from, r.body)
	return r, err
}

func (s *server) serve(connection net.Conn) {
	defer connection.Close()
	from := bufio.NewReader(connection)
	var made []byte
	for {
		r, err := read(from)
		if err != nil {
			return
		}
		partial := strings.Contains(r.accept, "PartialObjectMetadata")
		if c, _ := s.collection(r.path); c != nil && r.query.Has("watch") {
			s.begin(connection, c, r, partial)
			return
		}
		status, body := s.answer(r, partial)
		made = fmt.Appendf(made[:0], "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", status, len(body))
		if _, err := connection.Write(append(made, body...)); err != nil {
			return
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: sites OBJECTS KUBECONFIG")
	}
	runtime.GOMAXPROCS(1) // threads that wake each other would cost more than the work
	count, err := strconv.Atoi(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	s := &server{
		last:  1000,
		sites: &collection{apiVersion: "bench.example.com/v1", kind: "Site", fields: []string{"spec", "status"}},
		maps:  &collection{apiVersion: "v1", kind: "ConfigMap", fields: []string{"data"}},
	}
	for _, c := range []*collection{s.sites, s.maps} {
		c.objects, c.watches = map[string]*object{}, map[*watch]bool{}
	}
	for number := range count {
		name := fmt.Sprintf("sample-%d", number)
		spec := json.RawMessage(fmt.Sprintf(`{"title":"Site %d"}`, number))
		s.last++
		s.sites.objects[name] = &object{
			name: name, uid: uid(number, 1), version: s.last, parts: map[string]json.RawMessage{"spec": spec},
		}
		s.sites.order = append(s.sites.order, name)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"sites",`+
		`"clusters":[{"name":"sites","cluster":{"server":"%s"}}],"users":[{"name":"sites","user":{}}],`+
		`"contexts":[{"name":"sites","context":{"cluster":"sites","user":"sites"}}]}`, address)
	if err := os.WriteFile(os.Args[2], []byte(config), 0o600); err != nil {
		log.Fatal(err)
	}
	fmt.Println(address)
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go s.serve(connection)
	}
}
