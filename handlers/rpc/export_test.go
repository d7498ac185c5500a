package rpc

import (
	"net/http"
	"reflect"
)

// For the tests of package rpc_test.
type (
	CreateParams    = createParams
	SendParams      = sendParams
	ListParams      = listParams
	AnswerParams    = answerParams
	RevokeParams    = revokeParams
	CancelParams    = cancelParams
	ForkParams      = forkParams
	ChangesParams   = changesParams
	RestoreParams   = restoreParams
	UndoParams      = undoParams
	ResendParams    = resendParams
	UpdateParams    = updateParams
	FileParams      = fileParams
	SubscribeParams = subscribeParams

	ProposeCommitParams = proposeCommitParams
	CreateCommitParams  = createCommitParams
	CreatePullParams    = createPullParams
)

// ParamsOf returns the names of parameters in their order.
func ParamsOf(params any) []string {
	t := reflect.TypeOf(params)
	var names []string
	for i := range t.NumField() {
		names = append(names, t.Field(i).Tag.Get("json"))
	}
	return names
}

// Carrier returns what carries callbacks; see [Options].
func Carrier(remote bool) http.RoundTripper { return carrier(remote) }
