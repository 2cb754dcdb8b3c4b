// The views of an embedded cluster: the kinds that it has, and one object as it is stored.
import { h } from './preact.js';
import { Owners } from './owners.js';
import { Conditions, Events, Said, State, Table, Tree, When, Yaml } from './parts.js';
import { Timeline, attemptMarks, eventMarks } from './timeline.js';
import { STANDING, clock, count, eventId, tone } from './words.js';

export function Kinds({ view, choose }) {
  const rows = view.kinds.map((each) => h('tr', { key: each.name },
    h('th', { scope: 'row' }, h('button', { type: 'button', onClick: () => choose(each.name) }, each.kind)),
    h('td', null, each.apiVersion),
    h('td', { class: 'number' }, each.objects.toLocaleString('en')),
    h('td', { class: 'number' }, each.attention ? h('span', { class: 'state odd' }, each.attention.toLocaleString('en')) : '0')));
  return h('section', { 'aria-labelledby': 'kinds' }, h('h2', { id: 'kinds' }, 'Kinds ',
    h('span', { class: 'soft' }, 'a name shows its objects')),
  h(Table, { caption: 'Kinds, with the numbers of their objects', heads: ['kind', 'version', '#objects', '#not as wanted'], rows,
    empty: 'no object yet' }));
}

// The rows of a listing: of each problem the object that has it, the cause, and the other objects that have it.
export const rows = ({ objects, stored, now }) => objects.map((each) => h('tr', { key: `${each.controller} ${each.key}` },
  h('td', null, h(State, { state: each.state })),
  h('th', { scope: 'row' }, h('a', { href: stored(each.controller, each.key) }, each.key),
    h('div', { class: 'soft' }, each.kind, each.ready && `, ${each.ready}`)),
  h('td', { class: 'text cause' },
    each.see.map((one) => h('div', { key: one.key }, h(Cause, { one, stored }))),
    (each.text !== each.ready || !each.see.length) && h('div', { class: each.see.length ? 'soft' : '' }, h(Said, { parts: each.parts, stored })),
    h(Others, { row: each, stored })),
  h('td', each.since ? { 'data-head': 'since' } : null, h(When, { at: each.since, now }))));

// The object that is the cause of another one's state, with its reason.
const Cause = ({ one, stored }) => [`${one.kind} `, h('a', { href: stored(one.resource, one.key) }, one.key),
  one.more > 0 && ` and ${one.more} more like it`, ': ', h(Said, { parts: one.parts, stored })];

// The objects that have the problem of a row and are not named in it: "with it: 1 ReplicaSet, 3 Pods".
function Others({ row, stored }) {
  const named = new Set(row.see.map((one) => `${one.resource} ${one.key}`));
  const others = row.others.filter((one) => !named.has(`${one.resource} ${one.key}`));
  if (!others.length) return null;
  const numbers = new Map();
  for (const { kind } of others) numbers.set(kind, (numbers.get(kind) || 0) + 1);
  const words = [...[...numbers].map(([kind, number]) => count(number, kind)), ...(row.more ? [`${row.more} more`] : [])];
  return h('details', { class: 'others' }, h('summary', null, `with it: ${words.join(', ')}`),
    h('ul', null, others.map((one) => h('li', { key: one.resource + one.key }, `${one.kind} `,
      h('a', { href: stored(one.resource, one.key) }, one.key), ' ', h(State, { state: one.state }))),
    row.more > 0 && h('li', null, `and ${count(row.more, 'more object')}`)));
}

export function Stored({ object, view, link, stored }) {
  const told = view.detail;
  const back = h('p', null, h('a', { href: '#/' }, '← all objects'));
  if (!told || told.key !== object.key || told.resource !== object.kind) {
    return h('section', null, back, h('h2', { id: 'object', tabIndex: -1 }, object.key), !view.problem && h('p', null, 'asking'));
  }
  const line = (each) => [`${each.kind} `, h('a', { href: stored(each.resource, each.key) }, each.key), ' ',
    h(State, { state: each.state }), ' ', h('span', { class: 'soft' }, [each.ready, each.text !== each.ready && each.text].filter(Boolean).join('; '))];
  const now = view.manager.now;
  return h('section', { 'aria-labelledby': 'object' }, back,
    h('h2', { id: 'object', tabIndex: -1 }, `${told.kind} ${told.key} `, h('span', { class: 'soft' }, `apiVersion ${told.apiVersion}`)),
    h('div', { class: `verdict ${told.holdsUp.length && told.state === 'current' ? 'odd' : tone(told.state)}` }, h('strong', { role: 'status' }, told.state),
      told.ready && h('span', null, ` ${told.ready}`),
      told.see.map((each) => h('p', { key: each.resource + each.key, class: 'why' }, h(Cause, { one: each, stored }))),
      (told.text ? told.text !== told.ready : told.state === 'current') && h('p', { class: told.see.length ? '' : 'why' },
        told.text ? h(Said, { parts: told.parts, stored }) : 'its status does not say that anything is missing',
        told.since && [' – ', h(When, { at: told.since, now })]),
      told.holdsUp.length > 0 && [h('p', null, told.yaml ? 'holds up:' : 'wanted by:'), h(Tree, { owned: told.holdsUp, line }),
        told.more > 0 && h('p', null, `and ${count(told.more, 'more object')}`)],
      STANDING[told.state] && h('p', null, `${told.state} means: ${STANDING[told.state]}`)),
    h('h3', null, 'Owners and owned objects'),
    h(Owners, { self: { kind: told.kind, key: told.key, state: told.state, ready: told.ready }, owners: told.owners, owned: told.owned, more: told.moreOwned, href: (node) => node.resource && stored(node.resource, node.key) }),
    h('h3', null, 'Timeline'), h(Timeline, { key: `${told.resource} ${told.key}`, now, marks: marks(told) }),
    h('h3', null, 'Wanted and there'), h(Pairs, { pairs: told.pairs }),
    h('h3', null, 'Controllers that work on it'), h(Controllers, { told, link }),
    h('h3', null, 'Conditions'), h(Conditions, { conditions: told.conditions, now }),
    h('h3', null, 'Events'), h(Events, { events: told.events, now, caption: 'Events about it', empty: 'there is none' }),
    h('h3', null, 'Last versions'), h(Versions, { versions: told.versions, now }),
    h('h3', { id: 'yaml' }, 'As YAML'), h(Yaml, { told }));
}

const controllerId = (name) => `controller-${name}`;
const versionId = (version) => `version-${version.revision}`;

// The marks of the timeline: the reconciles of all controllers that work on it, its versions, and the events about it.
const marks = (told) => [
  ...told.controllers.flatMap(({ controller, timeline }) => attemptMarks(timeline, () => controllerId(controller), controller).filter((mark) => mark.lane !== 'writes')),
  ...told.versions.filter((version) => version.at).map((version) => ({
    lane: 'writes', start: new Date(version.at).getTime() / 1000, tone: 'busy', target: versionId(version),
    text: `${clock(version.at)}: ${version.by.length ? `written by ${version.by.join(', ')}: ` : ''}${said(version)}`,
  })),
  ...eventMarks(told.events, eventId),
];

const value = (any) => (any === null || any === undefined ? 'nothing' : typeof any === 'string' ? any : JSON.stringify(any));

// "ready replicas" for status.readyReplicas
const spelled = (path) => path.replace(/^status\./, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

function Pairs({ pairs }) {
  const rows = pairs.map((each) => h('tr', { key: each.wanted + each.actual },
    h('th', { scope: 'row' }, spelled(each.actual), h('div', { class: 'soft' }, each.wanted, ', ', each.actual)),
    h('td', null, value(each.wantedValue)), h('td', null, value(each.actualValue)),
    h('td', null, each.differs ? h('span', { class: 'state odd' }, 'differs') : h('span', { class: 'soft' }, 'equal'))));
  return h(Table, {
    caption: 'Wanted fields, and the fields that are there', heads: ['field', 'wanted', 'there', 'compared'], rows,
    empty: 'its status has no field that can be compared with its spec',
  });
}

const Controllers = ({ told, link }) => h(Table, {
  caption: 'Controllers that work on it', heads: ['controller', 'state', 'why'], empty: 'none of the control plane', cards: true,
  rows: told.controllers.map((each) => h('tr', { key: each.controller, id: controllerId(each.controller) },
    h('th', { scope: 'row' }, h('a', { href: link(each.controller, told.key) }, each.controller)),
    h('td', null, h(State, { state: each.state })), h('td', { class: 'text' }, each.text))),
});

// The versions that the server remembers. The newest change is open, the others at a click.
function Versions({ versions, now }) {
  if (!versions.length) return h('p', { class: 'soft' }, 'the server remembers none');
  return versions.map((each, at) => h('details', { key: each.revision, id: versionId(each), open: at === 0, class: 'version' },
    h('summary', null, `version ${each.revision}: ${said(each)}`, each.at && [', ', h(When, { at: each.at, now })],
      each.by.length > 0 && `, by ${each.by.join(', ')}`),
    each.changes.length > 0 && h('ul', { class: 'changes' }, each.changes.map((one) => h('li', { key: one.path },
      h('code', null, one.path),
      one.before !== null && h('del', null, h('span', { class: 'visually-hidden' }, 'before: '), one.before),
      one.after !== null && h('ins', null, h('span', { class: 'visually-hidden' }, 'now: '), one.after)))),
    each.more > 0 && h('p', { class: 'soft' }, `and ${count(each.more, 'more field')}`)));
}

function said({ type, changes, more }) {
  if (type === 'ADDED') return 'created';
  if (type === 'DELETED') return 'deleted';
  return changes.length ? `${count(changes.length + more, 'field')} changed` : 'only metadata of the server changed';
}
