package main

import (
	"context"
	"net/http"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func provider(mapper meta.RESTMapper) func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil }
}

// pods reads every pod once at the start and once for every event.
func pods(ctx context.Context, server string, count int) {
	synced, done := make(chan struct{}), make(chan struct{})
	made := newManager(server)
	reader := made.GetClient()
	var seen atomic.Int64
	noop := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		var pod corev1.Pod
		if err := reader.Get(ctx, request.NamespacedName, &pod); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		if pod.Name != request.Name {
			panic("another pod")
		}
		switch seen.Add(1) {
		case int64(count):
			close(synced)
		case 2 * int64(count):
			close(done)
		}
		return reconcile.Result{}, nil
	})
	must(ctrl.NewControllerManagedBy(made).For(&corev1.Pod{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).Complete(noop))
	say("ready")
	hear("sync")
	go func() { must(made.Start(ctx)) }()
	<-synced
	say("synced")
	collected()
	say("watching")
	<-done
	say("done")
	collected()
	hear("exit")
}
