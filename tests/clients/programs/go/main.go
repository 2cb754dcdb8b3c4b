// client-go: everyday work, with an informer. KUBECONFIG says where.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/remotecommand"
)

const namespace = "client-go"

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func expect(fine bool, what any) {
	if !fine {
		panic(what)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config := must(clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig())
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client := must(kubernetes.NewForConfig(config))
	must(client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}))

	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	seen := make(chan string, 100)
	name := func(kind string, object any) {
		if found, fine := object.(*corev1.ConfigMap); fine && found.Name == "a" {
			seen <- kind
		}
	}
	must(factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { name("added", object) },
		UpdateFunc: func(_, object any) { name("updated", object) },
		DeleteFunc: func(object any) { name("deleted", object) },
	}))
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())

	maps := client.CoreV1().ConfigMaps(namespace)
	made := must(maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": "y"}}, Data: map[string]string{"k": "1"}}, metav1.CreateOptions{}))
	expect(<-seen == "added", "no addition")
	made.Data["k"] = "2"
	must(maps.Update(ctx, made, metav1.UpdateOptions{}))
	expect(<-seen == "updated", "no update")
	_, err := maps.Update(ctx, made, metav1.UpdateOptions{})
	expect(apierrors.IsConflict(err), err)
	patched := must(maps.Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"data":{"l":"3"}}`), metav1.PatchOptions{}))
	expect(patched.Data["l"] == "3", patched)
	expect(<-seen == "updated", "no update")
	must(maps.Apply(ctx, applycore.ConfigMap("b", namespace).WithData(map[string]string{"k": "1"}), metav1.ApplyOptions{FieldManager: "me"}))
	found := must(maps.List(ctx, metav1.ListOptions{LabelSelector: "x=y"}))
	expect(len(found.Items) == 1 && must(maps.Get(ctx, "a", metav1.GetOptions{})).Name == "a", found)
	expect(maps.Delete(ctx, "a", metav1.DeleteOptions{}) == nil, "not deleted")
	expect(<-seen == "deleted", "no deletion")

	pods := client.CoreV1().Pods(namespace)
	container := corev1.Container{Name: "c", Image: "process.setpoint.dev/sh", Args: []string{"-c", "echo hello; sleep 600"}}
	must(pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}, metav1.CreateOptions{}))
	for must(pods.Get(ctx, "p", metav1.GetOptions{})).Status.Phase != corev1.PodRunning {
	}
	log := must(pods.GetLogs("p", &corev1.PodLogOptions{Follow: true}).Stream(ctx))
	line := make([]byte, 6)
	must(io.ReadFull(log, line))
	expect(string(line) == "hello\n", string(line))
	request := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name("p").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"echo", "there"}, Stdout: true}, scheme.ParameterCodec)
	executor := must(remotecommand.NewWebSocketExecutor(config, "GET", request.URL().String()))
	var out bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out}); err != nil {
		panic(err)
	}
	expect(strings.TrimSpace(out.String()) == "there", out.String())
	expect(client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}) == nil, "not deleted")
	fmt.Println("done")
}
