// Command queue measures client-go's work queue with the workloads of benchmarks/workqueue.py and prints JSON:
// CPU microseconds (of the whole process, user and system) per item, the best of three runs.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"k8s.io/client-go/util/workqueue"
)

func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func best(items int, run func()) float64 {
	least := 0.0
	for i := 0; i < 3; i++ {
		runtime.GC()
		before := cpu()
		run()
		spent := float64(cpu()-before) / float64(time.Microsecond) / float64(items)
		if i == 0 || spent < least {
			least = spent
		}
	}
	return least
}

func main() {
	n := flag.Int("n", 1_000_000, "items")
	flag.Parse()
	keys := make([]string, *n)
	for i := range keys {
		keys[i] = fmt.Sprintf("default/pod-%d", i)
	}
	few := keys[:min(1000, *n)]
	turn := func(q workqueue.TypedInterface[string], key string) {
		q.Add(key)
		got, _ := q.Get()
		q.Done(got)
	}
	results := map[string]float64{}
	results["steady"] = best(*n, func() {
		q := workqueue.NewTyped[string]()
		for i := 0; i < *n; i++ {
			turn(q, few[i%len(few)])
		}
		q.ShutDown()
	})
	results["fill_and_drain"] = best(*n, func() {
		q := workqueue.NewTyped[string]()
		for _, key := range keys {
			q.Add(key)
		}
		for range keys {
			got, _ := q.Get()
			q.Done(got)
		}
		q.ShutDown()
	})
	results["squash"] = best(*n, func() {
		q := workqueue.NewTyped[string]()
		for i := 0; i < *n; i++ {
			q.Add(few[i%len(few)])
		}
		q.ShutDown()
	})
	results["add_after"] = best(*n, func() {
		q := workqueue.NewTypedDelayingQueue[string]()
		for i, key := range keys {
			q.AddAfter(key, time.Duration(1000+i*7919%1_000_003)*time.Second)
		}
		q.ShutDown()
	})
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "k8s.io/client-go" {
				version = module.Version
			}
		}
	}
	out := map[string]any{"go": runtime.Version(), "client-go": version, "cpu_us_per_item": results}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
}
