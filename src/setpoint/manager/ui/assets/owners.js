// The picture of an object: its owners on its left, the objects that it owns on its right, each with its state and reason.
import { h } from './preact.js';
import { State } from './parts.js';
import { tone } from './words.js';

const MANY = 6; // more siblings than this are folded if they have the same kind and state

// `self` is the node of the object, `owners` are its owners by generation, the nearest first, and `owned` is the tree below it.
// `more` says whether it owns more than that. The function `href` returns the address of a node's page, or nothing.
export function Owners({ self, owners, owned, more, href }) {
  if (!owners.length && !owned.length) return h('p', { class: 'soft' }, 'It has no owner, and owns nothing that is known here.');
  const namespace = self.key.includes('/') ? self.key.slice(0, self.key.indexOf('/') + 1) : '';
  const name = (node) => (namespace && node.key.startsWith(namespace) ? node.key.slice(namespace.length) : node.key);
  const card = (node) => h('div', { class: `card ${node.state ? tone(node.state) : ''}${node === self ? ' self' : ''}`, 'aria-current': node === self ? 'true' : null },
    h('div', { class: 'soft kind' }, node.kind),
    node !== self && href(node) ? h('a', { href: href(node), title: node.key }, name(node)) : h('span', { title: node.key }, name(node)),
    node.state && h('div', null, h(State, { state: node.state }), node.ready && ` ${node.ready}`),
    node.text && node.text !== node.ready && !node.text.endsWith('=True') && h('p', { class: 'reason', title: node.text }, node.text));
  const item = (node) => h('li', { key: `${node.kind} ${node.key}` }, card(node), children(node.owns));
  const children = (nodes) => nodes.length > 0 && h('ul', null, groups(nodes).map(([first, ...others]) => (others.length
    ? h('li', { key: `${first.kind} ${first.state}` }, h('details', { class: `card ${first.state && tone(first.state)}` },
      h('summary', null, `${others.length + 1} × ${first.kind} `, first.state && h(State, { state: first.state })),
      h('ul', { class: 'folded' }, [first, ...others].map(item))))
    : item(first))));
  const levels = [...owners].reverse().map((nodes) => nodes.map(card));
  const below = [h('li', { key: 'self' }, card(self), children(owned))];
  const root = levels.reduceRight((inner, cards) => [h('li', { key: 'owner' }, h('div', { class: 'level' }, cards), h('ul', null, inner))], below);
  return [h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Owners and owned objects' }, h('ul', { class: 'owners' }, root)),
    more && h('p', { class: 'soft' }, 'It owns more objects than are shown here.')];
}

// Siblings, of which many with the same kind and state are one group.
function groups(nodes) {
  const alike = new Map();
  for (const node of nodes) {
    const key = `${node.kind} ${node.state}`;
    alike.set(key, [...(alike.get(key) || []), node]);
  }
  return [...alike.values()].flatMap((group) => (group.length > MANY ? [group] : group.map((node) => [node])));
}
