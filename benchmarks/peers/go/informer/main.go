// The informers of client-go and controller-runtime, with a handler that counts.
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
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
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

func main() {
	server, system := os.Args[1], os.Args[3]
	count, err := strconv.Atoi(os.Args[2])
	must(err)
	config := &rest.Config{Host: server, QPS: -1}
	config.ContentType = "application/json"
	config.AcceptContentTypes = "application/json"

	done := make(chan struct{})
	var seen atomic.Int64
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) {},
		UpdateFunc: func(_, _ any) {
			if seen.Add(1) == int64(count) {
				close(done)
			}
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	var sync func() int
	switch system {
	case "client-go":
		clients, err := kubernetes.NewForConfig(config)
		must(err)
		sync = func() int {
			factory := informers.NewSharedInformerFactory(clients, 0)
			informer := factory.Core().V1().Pods().Informer()
			registration, err := informer.AddEventHandler(handler)
			must(err)
			factory.Start(ctx.Done())
			if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced, registration.HasSynced) {
				must(fmt.Errorf("not synced"))
			}
			return len(informer.GetStore().ListKeys())
		}
	case "controller-runtime":
		sync = controllerRuntime(ctx, config, handler)
	default:
		must(fmt.Errorf("unknown system %q", system))
	}
	_ = corev1.Pod{}

	say("ready")
	hear("sync")
	if have := sync(); have != count {
		must(fmt.Errorf("%d objects instead of %d", have, count))
	}
	say("synced")
	collected()
	say("watching")
	<-done
	say("done")
	collected()
	hear("exit")
}
