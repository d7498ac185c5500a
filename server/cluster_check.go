package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/cluster/jetstream"
)

// Sizes of messages that the servers accept, in bytes.
const (
	minPayload  = 1 << 20
	goodPayload = 8 << 20
)

// howToSync says how to see what a client of the servers cannot.
const howToSync = "Pass the addresses at which the servers show their state, one of each, with `--monitoring http://host:8222,…` (`http: 8222` in their configuration), or look for `jetstream { sync_interval: always }` there."

// CheckCluster checks whether the servers of the cluster are fit for it. Monitoring has addresses at which they show their state
// over HTTP. It calls report with each finding.
func CheckCluster(ctx context.Context, c Config, monitoring []string, report func(Finding)) error {
	if !c.Cluster.isOn() {
		return errNoCluster
	}
	log, err := jetstream.Dial(c.Cluster.servers(slog.New(slog.DiscardHandler)))
	if err != nil {
		report(refusedFinding(c.Cluster, err).named("connection"))
		return nil
	}
	defer log.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, clusterTime, errSilentServers)
	defer cancel()
	seen, err := log.Inspect(ctx)
	if err != nil {
		return causeOf(ctx, err)
	}
	report(okFinding("%s answers, as one of %s", seen.Connected, count(len(seen.List), "server")).named("connection"))
	report(checkJetStream(seen).named("JetStream"))
	report(checkReplicas(c.Cluster.Replicas, seen).named("replicas"))
	report(checkPayload(seen.MaxPayload).named("max_payload"))
	if seen.Compressed {
		report(problemFinding(jetstream.Uncompress(c.Cluster.Group), "the servers compress the log, and may lose messages when they are killed").named("compression"))
	}
	report(checkSync(ctx, seen, monitoring).named("sync_interval"))
	return nil
}

// refusedFinding explains why there is no connection.
func refusedFinding(c Cluster, err error) Finding {
	switch text := strings.ToLower(err.Error()); {
	case strings.Contains(text, "authorization"), strings.Contains(text, "authentication"), strings.Contains(text, "permissions"):
		return problemFinding("Check cluster.credentials, or the user and password in cluster.nats.", "the servers do not accept the credentials: %v", err)
	case strings.Contains(text, "tls"), strings.Contains(text, "certificate"), strings.Contains(text, "x509"):
		return problemFinding("Check cluster.tls; URLs that begin with tls:// always use TLS.", "there is no TLS connection: %v", err)
	}
	return problemFinding("Check cluster.nats, and that the servers run.", "no server answers at %s: %v", c.addresses(), err)
}

func checkJetStream(seen jetstream.Servers) Finding {
	var without []string
	for _, s := range seen.List {
		if !s.JetStream {
			without = append(without, s.Name)
		}
	}
	switch {
	case seen.JetStream != nil:
		return problemFinding("Add `jetstream {}` to the configuration of the servers, and enable it for the account.", "JetStream cannot be used: %v", seen.JetStream)
	case len(without) > 0:
		return warningFinding("Only servers with JetStream store messages.", "it is off on %s", strings.Join(without, ", "))
	}
	return okFinding("can be used")
}

// checkReplicas compares the number of servers with how many are to store each message.
func checkReplicas(replicas int, seen jetstream.Servers) Finding {
	storing := 0
	for _, s := range seen.List {
		if s.JetStream {
			storing++
		}
	}
	switch {
	case len(seen.List) == 0:
		return warningFinding("Check by other means that there are as many servers as cluster.replicas.", "unknown: the servers do not say how many they are")
	case storing < replicas:
		return problemFinding("Start more servers, or lower cluster.replicas.", "cluster.replicas is %d, but there %s", replicas, are(storing, "server with JetStream", "servers with JetStream"))
	case seen.Replicas > 0 && seen.Replicas != replicas:
		return problemFinding(fmt.Sprintf("Change the streams of the cluster, for example with `nats stream edit --replicas %d`: a portal sets this only when it creates them.", replicas),
			"cluster.replicas is %d, but the log was created with %d", replicas, seen.Replicas)
	case replicas < 3:
		return warningFinding("Use three servers and cluster.replicas: 3 where work must go on when one fails.", "%d: when a server fails, the cluster waits for it", replicas)
	}
	return okFinding("%d, on %s", replicas, count(storing, "server"))
}

func checkPayload(size int64) Finding {
	switch hint := "Set `max_payload: 8MB` in the configuration of the servers: prompts with images are large."; {
	case size < minPayload:
		return problemFinding(hint, "%s is too small: 1 MB is the minimum", megabytes(size))
	case size < goodPayload:
		return warningFinding(hint, "%s is little", megabytes(size))
	}
	return okFinding("%s", megabytes(size))
}

func megabytes(size int64) string { return fmt.Sprintf("%.3g MB", float64(size)/(1<<20)) }

// checkSync checks whether the servers write to the disk before they acknowledge.
func checkSync(ctx context.Context, seen jetstream.Servers, monitoring []string) Finding {
	known := map[string]bool{}
	for _, address := range monitoring {
		name, always, err := syncOf(ctx, address)
		if err != nil {
			return warningFinding(howToSync, "unknown: %s does not say: %v", address, err)
		}
		known[name] = always
	}
	var unknown, late []string
	for _, s := range seen.List {
		always, ok := known[s.Name]
		switch {
		case !ok:
			unknown = append(unknown, s.Name)
		case !always:
			late = append(late, s.Name)
		}
	}
	switch {
	case len(late) > 0:
		return problemFinding("Set `jetstream { sync_interval: always }` there: otherwise a power failure loses messages that were acknowledged.",
			"not always on %s", strings.Join(late, ", "))
	case len(unknown) > 0 || len(seen.List) == 0:
		return warningFinding(howToSync, "unknown of %s", strings.Join(unknown, ", "))
	}
	return okFinding("always on %s", count(len(seen.List), "server"))
}

// syncOf asks a server at its monitoring address for its name, and whether it writes to the disk at once.
func syncOf(ctx context.Context, address string) (name string, always bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/varz", nil)
	if err != nil {
		return "", false, err
	}
	answer, err := (&http.Client{Timeout: 5 * time.Second}).Do(r)
	if err != nil {
		return "", false, err
	}
	defer answer.Body.Close() //nolint:errcheck // read-only
	if answer.StatusCode != http.StatusOK {
		return "", false, errors.New(answer.Status)
	}
	var said struct {
		Name      string `json:"server_name"`
		JetStream struct {
			Config struct {
				Always bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	err = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&said)
	return said.Name, said.JetStream.Config.Always, err
}

// count returns a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// are returns "is 1 …" or "are n …".
func are(n int, one, more string) string {
	if n == 1 {
		return "is 1 " + one
	}
	return fmt.Sprintf("are %d %s", n, more)
}

// examineCluster checks whether the servers of the cluster can be reached.
func examineCluster(ctx context.Context, c Config) Finding {
	log, err := jetstream.Dial(c.Cluster.servers(slog.New(slog.DiscardHandler)))
	if err != nil {
		f := refusedFinding(c.Cluster, err)
		f.Level = LevelWarning // the portal works, and shares its sessions later
		return f
	}
	defer log.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, clusterTime, errSilentServers)
	defer cancel()
	seen, err := log.Inspect(ctx)
	if err == nil {
		err = seen.JetStream
	}
	if err = causeOf(ctx, err); err != nil {
		return warningFinding("See `portal cluster check`.", "%s answers, but cannot be used: %v", seen.Connected, err)
	}
	return okFinding("%s answers; `portal cluster check` says whether the servers are safe", seen.Connected)
}
