// The surroundings of the block on the page, which stands in the place of the line PAGE.
package pages

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

func FirstKey(ctx context.Context, clientset kubernetes.Interface) (string, bool) {
	// PAGE
	return key, quit
}
