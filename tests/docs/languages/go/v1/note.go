// Package v1 has the kind of the page, as controller-gen would complete it.
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type NoteSpec struct {
	Text string `json:"text,omitempty"`
}

type NoteStatus struct {
	Words int `json:"words,omitempty"`
}

type Note struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NoteSpec   `json:"spec,omitempty"`
	Status NoteStatus `json:"status,omitempty"`
}

func (in *Note) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}
