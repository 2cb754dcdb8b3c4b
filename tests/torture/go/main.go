// A controller of controller-runtime: every Mykind has as many pods as its spec says, and says in its status when it
// has them all.
//
// With -forgets it notes the status before the pods are there, and makes them only if the status does not say so yet:
// a crash between two pods leaves the others out for ever.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var groupVersion = schema.GroupVersion{Group: "torture.example.com", Version: "v1"}

type MykindSpec struct {
	NumPods int `json:"numpods"`
}

type MykindStatus struct {
	Pods int `json:"pods"`
}

type Mykind struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              MykindSpec   `json:"spec,omitempty"`
	Status            MykindStatus `json:"status,omitempty"`
}

type MykindList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Mykind `json:"items"`
}

func (in *Mykind) DeepCopyObject() runtime.Object {
	out := &Mykind{TypeMeta: in.TypeMeta, Spec: in.Spec, Status: in.Status}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (in *MykindList) DeepCopyObject() runtime.Object {
	out := &MykindList{TypeMeta: in.TypeMeta}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Mykind))
	}
	return out
}

type reconciler struct {
	client.Client
	forgets bool
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var mykind Mykind
	if err := r.Get(ctx, request.NamespacedName, &mykind); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !mykind.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if r.forgets {
		if mykind.Status.Pods == mykind.Spec.NumPods {
			return ctrl.Result{}, nil
		}
		if err := r.note(ctx, &mykind); err != nil {
			return ctrl.Result{}, err
		}
	}
	for number := range mykind.Spec.NumPods {
		if err := r.make(ctx, &mykind, number); err != nil {
			return ctrl.Result{}, err
		}
	}
	for number := mykind.Spec.NumPods; number < 10; number++ {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name(&mykind, number), Namespace: mykind.Namespace}}
		if err := r.Get(ctx, client.ObjectKeyFromObject(pod), pod); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return ctrl.Result{}, err
		}
		if !metav1.IsControlledBy(pod, &mykind) || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
	}
	if mykind.Status.Pods != mykind.Spec.NumPods {
		return ctrl.Result{}, r.note(ctx, &mykind)
	}
	return ctrl.Result{}, nil
}

func name(mykind *Mykind, number int) string {
	return fmt.Sprintf("%s-%d", mykind.Name, number)
}

func (r *reconciler) make(ctx context.Context, mykind *Mykind, number int) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name(mykind, number), Namespace: mykind.Namespace}}
	err := r.Get(ctx, client.ObjectKeyFromObject(pod), pod)
	if err == nil && !metav1.IsControlledBy(pod, mykind) {
		return fmt.Errorf("pod %s is another's", pod.Name) // its owner of the same name went a moment ago
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "busybox"}}
	if err := controllerutil.SetControllerReference(mykind, pod, r.Scheme()); err != nil {
		return err
	}
	return client.IgnoreAlreadyExists(r.Create(ctx, pod))
}

func (r *reconciler) note(ctx context.Context, mykind *Mykind) error {
	before := mykind.DeepCopyObject().(*Mykind)
	mykind.Status.Pods = mykind.Spec.NumPods
	return r.Status().Patch(ctx, mykind, client.MergeFrom(before))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	forgets := flag.Bool("forgets", false, "plant the bug")
	flag.Parse() // controller-runtime's own flag -kubeconfig among them
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	must(corev1.AddToScheme(scheme))
	scheme.AddKnownTypes(groupVersion, &Mykind{}, &MykindList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	must(err)
	made := &reconciler{Client: manager.GetClient(), forgets: *forgets}
	must(ctrl.NewControllerManagedBy(manager).For(&Mykind{}).Owns(&corev1.Pod{}).Complete(made))
	must(manager.Start(ctrl.SetupSignalHandler()))
}
