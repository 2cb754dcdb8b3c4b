// The webhooks of the comparison, served by controller-runtime: a default, a check and a conversion, over TLS.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlconversion "sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/go-logr/logr"
)

const group = "bench.example.com"

type Spec2 struct {
	Replicas int                     `json:"replicas"`
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
}

type Mykind2 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec2 `json:"spec,omitempty"`
}

type Spec1 struct {
	NumPods  int                     `json:"numpods"`
	Template *corev1.PodTemplateSpec `json:"template,omitempty"`
}

type Mykind1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec1 `json:"spec,omitempty"`
}

func (in *Mykind2) DeepCopyObject() runtime.Object {
	out := &Mykind2{TypeMeta: in.TypeMeta, Spec: Spec2{Replicas: in.Spec.Replicas, Template: in.Spec.Template.DeepCopy()}}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (in *Mykind1) DeepCopyObject() runtime.Object {
	out := &Mykind1{TypeMeta: in.TypeMeta, Spec: Spec1{NumPods: in.Spec.NumPods, Template: in.Spec.Template.DeepCopy()}}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (*Mykind2) Hub() {}

func (in *Mykind1) ConvertTo(raw ctrlconversion.Hub) error {
	out := raw.(*Mykind2)
	out.ObjectMeta = in.ObjectMeta
	out.Spec = Spec2{Replicas: in.Spec.NumPods, Template: in.Spec.Template}
	return nil
}

func (in *Mykind1) ConvertFrom(raw ctrlconversion.Hub) error {
	from := raw.(*Mykind2)
	in.ObjectMeta = from.ObjectMeta
	in.Spec = Spec1{NumPods: from.Spec.Replicas, Template: from.Spec.Template}
	return nil
}

type hooks struct{}

func (hooks) Default(_ context.Context, obj *Mykind2) error {
	if obj.Labels == nil {
		obj.Labels = map[string]string{}
	}
	if _, there := obj.Labels["defaulted"]; !there {
		obj.Labels["defaulted"] = "yes"
	}
	if obj.Spec.Template != nil {
		for i := range obj.Spec.Template.Spec.Containers {
			if container := &obj.Spec.Template.Spec.Containers[i]; container.ImagePullPolicy == "" {
				container.ImagePullPolicy = corev1.PullIfNotPresent
			}
		}
	}
	return nil
}

func check(obj *Mykind2) error {
	if obj.Spec.Replicas < 0 {
		return errors.New("spec.replicas: must not be negative")
	}
	if obj.Spec.Template == nil || len(obj.Spec.Template.Spec.Containers) == 0 {
		return errors.New("spec.template.spec.containers: required")
	}
	return nil
}

func (hooks) ValidateCreate(_ context.Context, obj *Mykind2) (admission.Warnings, error) {
	return nil, check(obj)
}

func (hooks) ValidateUpdate(_ context.Context, _, obj *Mykind2) (admission.Warnings, error) {
	return nil, check(obj)
}

func (hooks) ValidateDelete(context.Context, *Mykind2) (admission.Warnings, error) {
	return nil, nil
}

func main() {
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v1alpha1", Kind: "Mykind"}, &Mykind1{})
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: group, Version: "v1alpha2", Kind: "Mykind"}, &Mykind2{})
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Group: group, Version: "v1alpha1"})
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Group: group, Version: "v1alpha2"})

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: os.Args[1]})
	server.Register("/mutate-bench-example-com-v1alpha2-mykind", admission.WithDefaulter[*Mykind2](scheme, hooks{}))
	server.Register("/validate-bench-example-com-v1alpha2-mykind", admission.WithValidator[*Mykind2](scheme, hooks{}))
	server.Register("/convert", conversion.NewWebhookHandler(scheme, conversion.NewRegistry()))
	go func() {
		ready := server.StartedChecker()
		for ready(nil) != nil {
		}
		fmt.Println(strconv.Itoa(port))
	}()
	if err := server.Start(context.Background()); err != nil {
		panic(err)
	}
}
