package jsonrpc

import "sync"

// workers runs jobs on a limited number of goroutines; further jobs wait in order.
type workers struct {
	mu          sync.Mutex
	running     int
	waiting     []func()
	most        int // at a time
	mostWaiting int
}

// do runs a job, or returns false if too many wait.
func (w *workers) do(job func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.running < w.most:
		w.running++
		go w.work(job)
	case len(w.waiting) < w.mostWaiting:
		w.waiting = append(w.waiting, job)
	default:
		return false
	}
	return true
}

func (w *workers) work(job func()) {
	for ; job != nil; job = w.next() {
		job()
	}
}

// next returns the job that has waited longest, or nil, which ends the worker.
func (w *workers) next() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		w.running--
		return nil
	}
	job := w.waiting[0]
	w.waiting[0] = nil
	w.waiting = w.waiting[1:]
	return job
}
