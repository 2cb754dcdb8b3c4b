// The surroundings of the block on the page, which stands in the place of the line PAGE.
package pages

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "setpoint.dev/pages/v1"
)

type NoteReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// PAGE
