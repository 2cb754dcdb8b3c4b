// What users of controller-runtime's envtest do, against whatever KUBEBUILDER_ASSETS names.
package suite

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	extensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var mykind = schema.GroupVersionKind{Group: "grp.example.com", Version: "v1", Kind: "Mykind"}

func definition() *extensionsv1.CustomResourceDefinition {
	anything := true
	return &extensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "mykinds.grp.example.com"},
		Spec: extensionsv1.CustomResourceDefinitionSpec{
			Group: mykind.Group,
			Scope: extensionsv1.NamespaceScoped,
			Names: extensionsv1.CustomResourceDefinitionNames{Plural: "mykinds", Kind: mykind.Kind},
			Versions: []extensionsv1.CustomResourceDefinitionVersion{{
				Name: mykind.Version, Served: true, Storage: true,
				Schema: &extensionsv1.CustomResourceValidation{OpenAPIV3Schema: &extensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func started(t *testing.T, environment *envtest.Environment) *rest.Config {
	t.Helper()
	began := time.Now()
	config, err := environment.Start()
	must(t, err)
	t.Logf("started in %v", time.Since(began))
	t.Cleanup(func() { must(t, environment.Stop()) })
	return config
}

func TestTypedAndUntypedClientsAndCaches(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	config := started(t, &envtest.Environment{CRDs: []*extensionsv1.CustomResourceDefinition{definition()}})
	typed, err := kubernetes.NewForConfig(config)
	must(t, err)
	version, err := typed.Discovery().ServerVersion()
	must(t, err)
	t.Log(version.GitVersion)

	known, err := extensions.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions().Get(ctx, "mykinds.grp.example.com", metav1.GetOptions{})
	must(t, err)
	if len(known.Status.StoredVersions) != 1 {
		t.Fatalf("stored versions: %v", known.Status.StoredVersions)
	}

	both, err := client.New(config, client.Options{})
	must(t, err)
	one := int32(1)
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &one,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
			},
		},
	}
	must(t, both.Create(ctx, web))
	if web.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		t.Fatalf("no defaults: %v", web.Spec)
	}
	if err := both.Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "bad", Namespace: "default"}}); !apierrors.IsInvalid(err) {
		t.Fatalf("an invalid one: %v", err)
	}
	if err := both.Get(ctx, client.ObjectKey{Namespace: "default", Name: "none"}, web.DeepCopy()); !apierrors.IsNotFound(err) {
		t.Fatalf("one that is not there: %v", err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mykind)
	object.SetNamespace("default")
	object.SetName("one")
	must(t, both.Create(ctx, object))

	seen := make(chan string, 10)
	informers, err := cache.New(config, cache.Options{})
	must(t, err)
	for _, each := range []client.Object{&appsv1.Deployment{}, object.DeepCopy()} {
		informer, err := informers.GetInformer(ctx, each, cache.BlockUntilSynced(false))
		must(t, err)
		_, err = informer.AddEventHandler(handler(func(name string) { seen <- name }))
		must(t, err)
	}
	go func() { _ = informers.Start(ctx) }()
	found := map[string]bool{}
	for len(found) < 2 {
		select {
		case name := <-seen:
			found[name] = true
		case <-ctx.Done():
			t.Fatalf("the caches saw only %v", found)
		}
	}
}

func TestUsersAndAccountsAreHeldToTheirRoles(t *testing.T) {
	ctx := t.Context()
	environment := &envtest.Environment{}
	config := started(t, environment)
	admin := kubernetes.NewForConfigOrDie(config)
	user, err := environment.AddUser(envtest.User{Name: "jane", Groups: []string{"readers"}}, config)
	must(t, err)
	jane := kubernetes.NewForConfigOrDie(user.Config())
	if _, err := jane.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("without a role: %v", err)
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}
	_, err = admin.RbacV1().Roles("default").Create(ctx, role, metav1.CreateOptions{})
	must(t, err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "readers"}},
	}
	_, err = admin.RbacV1().RoleBindings("default").Create(ctx, binding, metav1.CreateOptions{})
	must(t, err)
	_, err = jane.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	must(t, err)

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	_, err = admin.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{})
	must(t, err)
	token, err := admin.CoreV1().ServiceAccounts("default").CreateToken(ctx, "robot", &authv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, err)
	bearer := rest.AnonymousClientConfig(config)
	bearer.BearerToken = token.Status.Token
	who, err := kubernetes.NewForConfigOrDie(bearer).AuthenticationV1().SelfSubjectReviews().Create(ctx, &authv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must(t, err)
	if who.Status.UserInfo.Username != "system:serviceaccount:default:robot" {
		t.Fatalf("the token's bearer is %v", who.Status.UserInfo)
	}
}

func TestObjectsAreKeptInEtcdsDirectory(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(folder, 0o700))
	begin := func() (*envtest.Environment, *kubernetes.Clientset) {
		environment := &envtest.Environment{}
		environment.ControlPlane.Etcd = &envtest.Etcd{DataDir: folder}
		config, err := environment.Start()
		must(t, err)
		return environment, kubernetes.NewForConfigOrDie(config)
	}
	environment, admin := begin()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	_, err := admin.CoreV1().ConfigMaps("default").Create(t.Context(), made, metav1.CreateOptions{})
	must(t, err)
	must(t, environment.Stop())
	environment, admin = begin()
	_, err = admin.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	must(t, err)
	must(t, environment.Stop())
}

type added func(name string)

func handler(tell added) added { return tell }

func (tell added) OnAdd(object any, _ bool) { tell(object.(client.Object).GetName()) }
func (added) OnUpdate(_, _ any)             {}
func (added) OnDelete(any)                  {}
