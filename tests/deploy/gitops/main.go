package main

import (
	"encoding/json"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	appv1 "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type question struct {
	Object map[string]any    `json:"object"`
	Lua    map[string]string `json:"lua"`
}

type answer struct {
	Kstatus string `json:"kstatus"`
	Message string `json:"message"`
	Argo    string `json:"argo"`
	Reason  string `json:"reason"`
}

func main() {
	var questions []question
	check(json.NewDecoder(os.Stdin).Decode(&questions))
	answers := []answer{}
	for _, question := range questions {
		raw, err := json.Marshal(question.Object)
		check(err)
		object := &unstructured.Unstructured{}
		check(object.UnmarshalJSON(raw))
		result, err := status.Compute(object)
		check(err)
		overrides := map[string]appv1.ResourceOverride{}
		for kind, script := range question.Lua {
			overrides[kind] = appv1.ResourceOverride{HealthLua: script}
		}
		assessed, err := health.GetResourceHealth(object, lua.ResourceHealthOverrides(overrides))
		check(err)
		one := answer{Kstatus: string(result.Status), Message: result.Message}
		if assessed != nil {
			one.Argo, one.Reason = string(assessed.Status), assessed.Message
		}
		answers = append(answers, one)
	}
	check(json.NewEncoder(os.Stdout).Encode(answers))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
