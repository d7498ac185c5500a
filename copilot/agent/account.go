package agent

import "time"

// Account is the account that the agent uses at its vendor.
type Account struct {
	SignedIn bool
	Login    string  // "" if not signed in or unknown
	Host     string  // of the vendor's service
	Message  string  // explanation by the agent
	Quotas   []Quota // none if not signed in or unknown
}

// Quota is a usage limit of the account.
type Quota struct {
	Name        string // the vendor's name of the resource
	Used, Limit int64  // requests
	Unlimited   bool
	Remaining   float64   // in percent
	Reset       time.Time // zero if unknown
}
