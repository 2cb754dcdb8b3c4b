// The informers of client-go and controller-runtime, with a handler that counts: informer SERVER PARTS SYSTEM.
// PARTS are the kinds and numbers of objects, such as nodes=100,pods=1200. SYSTEM is controller-runtime or client-go, the
// latter also with +protobuf and with +strip, a transform that drops managedFields.
//
// "informer encode KIND" turns lines of JSON into protobuf, for the recordings of the replaying server.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var input = bufio.NewScanner(os.Stdin)

func say(word string) { fmt.Println(word) }

func hear(word string) {
	input.Scan()
	if heard := strings.TrimSpace(input.Text()); heard != word {
		fmt.Fprintf(os.Stderr, "expected %q, heard %q\n", word, heard)
		os.Exit(1)
	}
}

func collected() {
	hear("collect")
	runtime.GC()
	debug.FreeOSMemory()
	say("collected")
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// counter counts the events of one informer and closes done when each of its objects has changed.
func counter(count int, done *sync.WaitGroup) cache.ResourceEventHandler {
	var seen atomic.Int64
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) {},
		UpdateFunc: func(_, _ any) {
			if seen.Add(1) == int64(count) {
				done.Done()
			}
		},
	}
}

func main() {
	if os.Args[1] == "encode" {
		encode(os.Args[2])
		return
	}
	server, system := os.Args[1], os.Args[3]
	config := &rest.Config{Host: server, QPS: -1}
	config.ContentType = "application/json"
	if strings.Contains(system, "+protobuf") {
		config.ContentType = "application/vnd.kubernetes.protobuf"
	}
	config.AcceptContentTypes = config.ContentType
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	var synced, done sync.WaitGroup
	var starts []func()
	for part := range strings.SplitSeq(os.Args[2], ",") {
		workload, number, _ := strings.Cut(part, "=")
		count, err := strconv.Atoi(number)
		must(err)
		synced.Add(1)
		done.Add(1)
		handler := counter(count, &done)
		var sync func() int
		if system == "controller-runtime" {
			sync = controllerRuntime(ctx, config, workload, handler)
		} else {
			sync = clientGo(ctx, config, workload, strings.Contains(system, "+strip"), handler)
		}
		starts = append(starts, func() {
			if have := sync(); have != count {
				must(fmt.Errorf("%d objects instead of %d", have, count))
			}
			synced.Done()
		})
	}
	say("ready")
	hear("sync")
	for _, start := range starts {
		go start()
	}
	synced.Wait()
	say("synced")
	collected()
	say("watching")
	done.Wait()
	say("done")
	collected()
	hear("exit")
}
