package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Mykind is the custom kind of the workloads.
type Mykind struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Replicas int               `json:"replicas"`
		Settings map[string]string `json:"settings"`
		Checksum string            `json:"checksum"`
	} `json:"spec,omitempty"`
	Status struct {
		Ready              int    `json:"ready"`
		ObservedGeneration int    `json:"observedGeneration"`
		Phase              string `json:"phase"`
	} `json:"status,omitempty"`
}

type MykindList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Mykind `json:"items"`
}

func (in *Mykind) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (in *MykindList) DeepCopyObject() runtime.Object {
	out := *in
	out.Items = append([]Mykind(nil), in.Items...)
	return &out
}

func strip(object any) (any, error) {
	accessor, err := meta.Accessor(object)
	if err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func customInformer(config *rest.Config) cache.SharedIndexInformer {
	version := schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(version, &Mykind{}, &MykindList{})
	metav1.AddToGroupVersion(scheme, version)
	own := rest.CopyConfig(config)
	own.GroupVersion = &version
	own.APIPath = "/apis"
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(own)
	must(err)
	source := cache.NewListWatchFromClient(client, "mykinds", metav1.NamespaceAll, fields.Everything())
	return cache.NewSharedIndexInformer(source, &Mykind{}, 0, cache.Indexers{})
}

// clientGo is the function that starts the informer, waits until it has synced, and returns its number of objects.
func clientGo(ctx context.Context, config *rest.Config, workload string, strips bool, handler cache.ResourceEventHandler) func() int {
	clients, err := kubernetes.NewForConfig(config)
	must(err)
	core := informers.NewSharedInformerFactory(clients, 0).Core().V1()
	var informer cache.SharedIndexInformer
	switch workload {
	case "nodes":
		informer = core.Nodes().Informer()
	case "custom":
		informer = customInformer(config)
	default:
		informer = core.Pods().Informer()
	}
	if strips {
		must(informer.SetTransform(strip))
	}
	return func() int {
		registration, err := informer.AddEventHandler(handler)
		must(err)
		go informer.Run(ctx.Done())
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced, registration.HasSynced) {
			must(fmt.Errorf("not synced"))
		}
		return len(informer.GetStore().ListKeys())
	}
}
