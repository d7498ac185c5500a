const { useState, useEffect } = React;

// readOutline reads the lines about an API that it knows.
function readOutline(lines) {
  const read = { description: '', baseUrl: '', auth: [], operations: [] };
  let within = 'head';
  for (const line of lines) {
    const last = read.operations[read.operations.length - 1];
    let m;
    if (line.startsWith('## ')) within = line;
    else if (within === 'head') {
      if ((m = /^base URL: (.*)/.exec(line))) read.baseUrl = m[1];
      else if ((m = /^auth (.*?): (.*)/.exec(line))) read.auth.push({ name: m[1], words: m[2].split(' ') });
      else if (!read.description && !/^#|^tag /.test(line)) read.description = line.trim();
    } else if (within === '## Models') break;
    else if ((m = /^([A-Z]+) (\/\S*)[^—#]*?(?: — (.*?))?(?: #([^#]*?))?( \(deprecated\))?$/.exec(line))) {
      const [, method, path, title, group, deprecated] = m;
      read.operations.push({ method, path, title, group: group || path.split('/')[1] || 'other', deprecated, params: [] });
    } else if ((m = /^(query|mutation|subscription) (\w+)(.*?)( \(deprecated\))?(?: [/][/] .*)?$/.exec(line))) {
      const [, method, path, signature, deprecated] = m;
      const body = method + ' { ' + path + ' }';
      read.operations.push({ method, path, title: path + signature, group: method, deprecated, params: [], kind: 'document of GraphQL', body });
    } else if ((m = /^  base URL: (.*)/.exec(line))) last.baseUrl = m[1];
    else if ((m = /^  (path|query|header|cookie) (\S+?)(!?): (.*?)(?: [/][/] .*)?$/.exec(line))) {
      const of = /^\w+ (\S+\|\S+?)(?: = .*)?$/.exec(m[4]);
      last.params.push({ in: m[1], name: m[2], required: Boolean(m[3]), type: m[4], choices: of && of[1].split('|') });
    } else if ((m = /^  body!?: ([\w.+-]+\/\S+)?(.*?)(?: [/][/] .*)?$/.exec(line))) {
      last.kind = (m[1] || 'application/json') + ' ' + m[2].trim();
      last.body = last.kind.includes('json') ? '{}' : '';
    }
  }
  return read;
}

const api = readOutline(outline.split('\n'));
const graphql = / \(graphql\)$/.test(outline.split('\n')[0]);

const palettes = {
  light: { page: '#ffffff', card: '#f5f6f8', text: '#1b1f24', soft: '#57606a', line: '#c8ced6', accent: '#0b5cad', onAccent: '#ffffff', bad: '#b3261e' },
  dark: { page: '#14181d', card: '#1e242b', text: '#eceff2', soft: '#a7b0ba', line: '#3d4650', accent: '#7cb7f5', onAccent: '#0c1a28', bad: '#ff9d94' },
};
const pageSize = 20;

function usePalette() {
  const media = window.matchMedia ? window.matchMedia('(prefers-color-scheme: dark)') : { matches: false };
  return palettes[settings.theme === 'system' ? (media.matches ? 'dark' : 'light') : settings.theme] || palettes.light;
}

// build makes the request of an operation out of what was entered.
function build(operation, values, body, auth) {
  let path = operation.path;
  const query = new URLSearchParams();
  const headers = {};
  for (const param of operation.params) {
    const value = values[keyOf(param)];
    if (value === undefined || value === '') continue;
    if (param.in === 'path') path = path.replace('{' + param.name + '}', encodeURIComponent(value));
    if (param.in === 'query') query.append(param.name, value);
    if (param.in === 'header') headers[param.name] = value;
  }
  for (const scheme of settings.auth ? api.auth : []) authorize(scheme, auth[scheme.name], headers, query);
  const base = (operation.baseUrl || api.baseUrl).replace(/[/]$/, '');
  if (graphql) {
    headers['Content-Type'] = 'application/json';
    return [base, { method: 'POST', headers, body: JSON.stringify({ query: body }) }];
  }
  const more = query.toString();
  const request = { method: operation.method, headers };
  if (operation.kind && body.trim()) {
    headers['Content-Type'] = operation.kind.split(' ')[0];
    request.body = body;
  }
  return [base + path + (more ? '?' + more : ''), request];
}

// keyOf tells parameters of the same name apart.
function keyOf(param) {
  return param.in + ' ' + param.name;
}

function authorize(scheme, secret, headers, query) {
  if (!secret) return;
  const [type, ...words] = scheme.words;
  if (type === 'apiKey' && words[0] === 'query') query.append(words[1], secret);
  else if (type === 'apiKey') headers[words[1] || 'X-API-Key'] = secret;
  else if (words[0] === 'basic') headers.Authorization = 'Basic ' + btoa(secret);
  else headers.Authorization = 'Bearer ' + secret;
}

async function send(operation, values, body, auth) {
  const [url, request] = build(operation, values, body, auth);
  const answer = await fetch(url, request);
  const text = await answer.text();
  let data = text;
  try {
    data = JSON.parse(text);
  } catch {
    // it is shown as text
  }
  const errors = graphql && data && data.errors;
  if (!answer.ok || errors) throw new Error(answer.status + ' ' + answer.statusText + ' ' + (errors ? errors.map((e) => e.message).join('; ') : text.slice(0, 300)));
  return graphql && data ? data.data : data;
}

// rows finds the list in an answer, if it is one.
function rows(data) {
  if (Array.isArray(data)) return data;
  if (!data || typeof data !== 'object') return null;
  const lists = Object.values(data).filter(Array.isArray);
  if (lists.length) return lists[0];
  const values = Object.values(data);
  return values.length === 1 ? rows(values[0]) : null;
}

function shown(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') return JSON.stringify(value);
  const text = String(value);
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? new Date(text).toLocaleString() : text;
}

function Field({ label, required, children }) {
  return (
    <label style={{ display: 'block', margin: '6px 0' }}>
      <span style={{ display: 'block', fontSize: '0.9em' }}>{label}{required ? ' (required)' : ''}</span>
      {children}
    </label>
  );
}

function Table({ list, search }) {
  const colours = usePalette();
  const [page, setPage] = useState(0);
  const found = search ? list.filter((row) => JSON.stringify(row).toLowerCase().includes(search.toLowerCase())) : list;
  const columns = [...new Set(found.flatMap((row) => (row && typeof row === 'object' ? Object.keys(row) : ['value'])))];
  const pages = settings.pagination ? Math.max(1, Math.ceil(found.length / pageSize)) : 1;
  const at = Math.min(page, pages - 1);
  const part = settings.pagination ? found.slice(at * pageSize, (at + 1) * pageSize) : found;
  const cell = { borderBottom: '1px solid ' + colours.line, padding: settings.compact ? '2px 6px' : '6px 10px', textAlign: 'left', verticalAlign: 'top' };
  if (!found.length) return <p>The list is empty.</p>;
  return (
    <div>
      <div style={{ overflowX: 'auto' }}>
        <table style={{ borderCollapse: 'collapse', width: '100%' }}>
          <thead><tr>{columns.map((name) => <th key={name} scope="col" style={cell}>{name}</th>)}</tr></thead>
          <tbody>
            {part.map((row, i) => (
              <tr key={i}>{columns.map((name) => <td key={name} style={cell}>{shown(row && typeof row === 'object' ? row[name] : row)}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
      {pages > 1 && (
        <p>
          <button type="button" disabled={at === 0} onClick={() => setPage(at - 1)}>Previous page</button>{' '}
          {at + 1} of {pages}{' '}
          <button type="button" disabled={at === pages - 1} onClick={() => setPage(at + 1)}>Next page</button>
        </p>
      )}
    </div>
  );
}

function Answer({ data, search }) {
  const list = rows(data);
  if (list) return <Table list={list} search={search} />;
  return <pre style={{ overflowX: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{typeof data === 'string' ? data || 'Done; the answer is empty.' : JSON.stringify(data, null, 2)}</pre>;
}

function Input({ param, value, onChange }) {
  const style = { width: '100%', boxSizing: 'border-box', padding: 6 };
  if (param.choices) {
    return (
      <select style={style} value={value} required={param.required} onChange={(e) => onChange(e.target.value)}>
        <option value="">not set</option>
        {param.choices.map((choice) => <option key={choice}>{choice}</option>)}
      </select>
    );
  }
  return <input style={style} value={value} required={param.required} placeholder={param.type} onChange={(e) => onChange(e.target.value)} />;
}

function Operation({ operation, auth }) {
  const colours = usePalette();
  const [values, setValues] = useState({});
  const [body, setBody] = useState(operation.body || '');
  const [state, setState] = useState({ name: 'new' });
  const [search, setSearch] = useState('');
  const changes = !['GET', 'HEAD', 'query', 'subscription'].includes(operation.method);
  const [sure, setSure] = useState(false);
  const name = operation.method + ' ' + operation.path;
  const searches = settings.search && (!settings.searchIn || settings.searchIn === operation.group);

  async function call() {
    setSure(false);
    setState({ name: 'loading' });
    try {
      setState({ name: 'done', data: await send(operation, values, body, auth) });
    } catch (error) {
      setState({ name: 'failed', text: error.message });
    }
  }

  function submit(event) {
    event.preventDefault();
    if (changes && !sure) setSure(true);
    else call();
  }

  return (
    <details style={{ background: colours.card, border: '1px solid ' + colours.line, borderRadius: 6, margin: '8px 0', padding: settings.compact ? 6 : 12 }}>
      <summary style={{ cursor: 'pointer', overflowWrap: 'anywhere' }}>
        <code>{name}</code> {operation.title}{operation.deprecated && ' (deprecated)'}
      </summary>
      <form onSubmit={submit}>
        {operation.params.map((param) => (
          <Field key={keyOf(param)} label={param.name} required={param.required}>
            <Input param={param} value={values[keyOf(param)] || ''} onChange={(value) => setValues({ ...values, [keyOf(param)]: value })} />
          </Field>
        ))}
        {operation.kind && (
          <Field label={'Body, ' + operation.kind}>
            <textarea rows={5} style={{ width: '100%', boxSizing: 'border-box' }} value={body} onChange={(e) => setBody(e.target.value)} />
          </Field>
        )}
        <button style={{ background: colours.accent, color: colours.onAccent, border: 0, borderRadius: 4, padding: '8px 16px', margin: '6px 0' }} disabled={state.name === 'loading'}>
          {sure ? 'Really send? This changes something' : 'Send'}
        </button>
        {sure && <button type="button" onClick={() => setSure(false)}>Do not send</button>}
      </form>
      <div aria-live="polite">
        {state.name === 'loading' && <p>Loading …</p>}
        {state.name === 'failed' && (
          <p style={{ color: colours.bad }}>
            It did not work: {state.text} <button type="button" onClick={call}>Try again</button>
          </p>
        )}
      </div>
      {state.name === 'done' && searches && (
        <Field label="Search in the answer"><input type="search" value={search} onChange={(e) => setSearch(e.target.value)} /></Field>
      )}
      {state.name === 'done' && <Answer data={state.data} search={searches ? search : ''} />}
    </details>
  );
}

function Credentials({ auth, setAuth }) {
  if (!settings.auth || !api.auth.length) return null;
  return (
    <fieldset>
      <legend>Keys and tokens</legend>
      {api.auth.map((scheme) => (
        <Field key={scheme.name} label={scheme.name + ' (' + scheme.words.join(' ') + ')'}>
          <input type="password" autoComplete="off" value={auth[scheme.name] || ''} onChange={(e) => setAuth({ ...auth, [scheme.name]: e.target.value })} />
        </Field>
      ))}
    </fieldset>
  );
}

function Group({ name, auth, find }) {
  const list = api.operations.filter((o) => o.group === name && (o.method + ' ' + o.path + ' ' + o.title).toLowerCase().includes(find.toLowerCase()));
  if (!list.length) return null;
  return (
    <section aria-label={name} id={'group-' + name}>
      <h2>{name}</h2>
      {list.map((operation, i) => <Operation key={i} operation={operation} auth={auth} />)}
    </section>
  );
}

function App() {
  const colours = usePalette();
  const [auth, setAuth] = useState({});
  const [find, setFind] = useState('');
  useEffect(() => { document.title = settings.title; }, []);
  const groups = [...new Set(api.operations.map((operation) => operation.group))];
  const beside = settings.layout.includes('side');
  return (
    <main style={{ background: colours.page, color: colours.text, fontFamily: 'system-ui, sans-serif', fontSize: settings.compact ? 13 : 16, minHeight: '100vh', padding: settings.compact ? 8 : 16 }}>
      <h1>{settings.title}</h1>
      {settings.note && <p role="note">Asked for: {settings.note}</p>}
      {api.description && <p style={{ color: colours.soft }}>{api.description}</p>}
      <Credentials auth={auth} setAuth={setAuth} />
      {settings.search && <Field label="Search"><input type="search" value={find} onChange={(e) => setFind(e.target.value)} /></Field>}
      <div style={{ display: beside ? 'flex' : 'block', flexWrap: 'wrap', gap: 24 }}>
        {beside && <nav aria-label="Groups"><ul>{groups.map((name) => <li key={name}>{name}</li>)}</ul></nav>}
        <div style={{ flex: '1 1 320px', minWidth: 0 }}>
          {groups.map((name) => <Group key={name} name={name} auth={auth} find={find} />)}
          {!groups.length && <p>There is nothing to be shown.</p>}
        </div>
      </div>
    </main>
  );
}
