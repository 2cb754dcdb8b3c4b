// Kinds is never run: its file holds the types of the API servers' own kinds, which kubectl's lacks. See
// ../generate_protobuf.py.
package main

import (
	"fmt"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	aggregation "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func main() {
	fmt.Println(&extensions.CustomResourceDefinitionList{}, &aggregation.APIServiceList{})
}
