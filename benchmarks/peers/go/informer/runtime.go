package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func controllerRuntime(ctx context.Context, config *rest.Config, workload string, handler toolscache.ResourceEventHandler) func() int {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	var object client.Object = &corev1.Pod{}
	var list client.ObjectList = &corev1.PodList{}
	if workload == "nodes" {
		object, list = &corev1.Node{}, &corev1.NodeList{}
	}
	return func() int {
		objects, err := cache.New(config, cache.Options{Scheme: scheme.Scheme, Mapper: mapper})
		must(err)
		go func() { must(objects.Start(ctx)) }()
		informer, err := objects.GetInformer(ctx, object)
		must(err)
		registration, err := informer.AddEventHandler(handler)
		must(err)
		if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced, registration.HasSynced) {
			panic("not synced")
		}
		must(objects.List(ctx, list))
		return meta.LenList(list)
	}
}
