// Assesses objects as Argo CD and Flux do: questions from standard input, answers to standard output.
package main

import (
	"encoding/json"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	luajson "layeh.com/gopher-json"
)

type question struct {
	Object map[string]any `json:"object"`
	Lua    string         `json:"lua"`
}

type answer struct {
	Kstatus string `json:"kstatus"`
	Argo    string `json:"argo"`
	Reason  string `json:"reason"`
}

// A question's script is run with the libraries that Argo CD gives it, and with numbers as it hands them over.
func (asked question) GetResourceHealth(*unstructured.Unstructured) (*health.HealthStatus, error) {
	if asked.Lua == "" {
		return nil, nil
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		err := state.CallByParam(lua.P{Fn: state.NewFunction(library.open), Protect: true}, lua.LString(library.name))
		if err != nil {
			return nil, err
		}
	}
	state.SetGlobal("obj", luajson.DecodeValue(state, asked.Object))
	if err := state.DoString(asked.Lua); err != nil {
		return nil, err
	}
	encoded, err := luajson.Encode(state.Get(-1))
	if err != nil {
		return nil, err
	}
	result := &health.HealthStatus{}
	return result, json.Unmarshal(encoded, result)
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
		assessed, err := health.GetResourceHealth(object, question)
		check(err)
		one := answer{Kstatus: string(result.Status)}
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
