package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

func controllerRuntime(ctx context.Context, config *rest.Config, handler toolscache.ResourceEventHandler) func() int {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return func() int {
		pods, err := cache.New(config, cache.Options{Scheme: scheme.Scheme, Mapper: mapper})
		must(err)
		go func() { must(pods.Start(ctx)) }()
		informer, err := pods.GetInformer(ctx, &corev1.Pod{})
		must(err)
		registration, err := informer.AddEventHandler(handler)
		must(err)
		if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced, registration.HasSynced) {
			panic("not synced")
		}
		var list corev1.PodList
		must(pods.List(ctx, &list))
		return len(list.Items)
	}
}
