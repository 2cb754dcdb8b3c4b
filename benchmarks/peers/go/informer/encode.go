package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"os"

	corev1 "k8s.io/api/core/v1"
)

type message interface {
	Reset()
	Marshal() ([]byte, error)
}

// encode reads objects of a kind as lines of JSON and writes them as protobuf, each behind its length in four bytes.
func encode(kind string) {
	var object message = &corev1.Pod{}
	if kind == "Node" {
		object = &corev1.Node{}
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		object.Reset()
		must(json.Unmarshal(lines.Bytes(), object))
		data, err := object.Marshal()
		must(err)
		must(binary.Write(out, binary.BigEndian, uint32(len(data))))
		_, err = out.Write(data)
		must(err)
	}
	must(lines.Err())
	must(out.Flush())
}
