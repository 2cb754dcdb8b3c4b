package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var groupVersion = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

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
	scheme *runtime.Scheme
	apply  bool
}

const ownerIndex = "owner"

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var mykind Mykind
	if err := r.Get(ctx, request.NamespacedName, &mykind); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	var owned corev1.PodList
	err := r.List(ctx, &owned, client.InNamespace(mykind.Namespace), client.MatchingFields{ownerIndex: string(mykind.UID)})
	if err != nil {
		return reconcile.Result{}, err
	}
	there := map[string]bool{}
	for i := range owned.Items {
		there[owned.Items[i].Name] = true
	}
	for number := range mykind.Spec.NumPods {
		name := fmt.Sprintf("%s-%d", mykind.Name, number)
		if there[name] {
			continue
		}
		pod := &corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: mykind.Namespace},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
		}
		if err := controllerutil.SetControllerReference(&mykind, pod, r.scheme); err != nil {
			return reconcile.Result{}, err
		}
		if r.apply {
			//nolint:staticcheck // generated apply configurations would need a client set of their own
			err = r.Patch(ctx, pod, client.Apply, client.ForceOwnership, client.FieldOwner("mykind"))
		} else if err = r.Create(ctx, pod); apierrors.IsAlreadyExists(err) {
			err = nil // the cache is behind
		}
		if err != nil {
			return reconcile.Result{}, err
		}
	}
	if mykind.Status.Pods != len(owned.Items) {
		before := mykind.DeepCopyObject().(*Mykind)
		mykind.Status.Pods = len(owned.Items)
		if err := r.Status().Patch(ctx, &mykind, client.MergeFrom(before)); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

// children keeps the pods of every Mykind, until it is told to exit.
func children(ctx context.Context, server, how string) {
	made := newManager(server)
	must(made.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, ownerIndex, func(object client.Object) []string {
		if owner := metav1.GetControllerOf(object); owner != nil {
			return []string{string(owner.UID)}
		}
		return nil
	}))
	must(ctrl.NewControllerManagedBy(made).For(&Mykind{}).Owns(&corev1.Pod{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{Client: made.GetClient(), scheme: made.GetScheme(), apply: how == "apply"}))
	say("ready")
	hear("sync")
	go func() { must(made.Start(ctx)) }()
	collected()
	hear("exit")
}
