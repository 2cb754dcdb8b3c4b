// The controllers of the comparison, written with controller-runtime.
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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/go-logr/logr"
)

const workers = 8

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

func newManager(server string) ctrl.Manager {
	scheme := apiruntime.NewScheme()
	must(corev1.AddToScheme(scheme))
	scheme.AddKnownTypes(groupVersion, &Mykind{}, &MykindList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(groupVersion.WithKind("Mykind"), meta.RESTScopeNamespace)

	config := &rest.Config{Host: server, QPS: -1}
	config.ContentType = "application/json"
	config.AcceptContentTypes = "application/json"
	made, err := manager.New(config, manager.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		MapperProvider:         provider(mapper),
	})
	must(err)
	return made
}

func main() {
	server, what := os.Args[1], os.Args[3]
	count, err := strconv.Atoi(os.Args[2])
	must(err)
	log.SetLogger(logr.Discard())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch what {
	case "pods":
		pods(ctx, server, count)
	case "create", "apply":
		children(ctx, server, what)
	default:
		must(fmt.Errorf("unknown work %q", what))
	}
}
