import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** One import, types included. Both ends are paths from the root, without an extension; packages are named as they are. */
export type Import = { from: string; to: string };

const ROOT = path.resolve(".");

/** All files of a folder but JSON. Generated ones are left out. */
export function codeFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".json"))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !/\/generated\/|\/node_modules\/|\.generated\.ts$/.test(file))
    .sort();
}

/** The TypeScript files of a folder, or the file itself. Generated ones are left out. */
export function sourceFiles(place: string): string[] {
  if (/\.tsx?$/.test(place)) return [place];
  return codeFiles(place).filter((file) => /\.tsx?$/.test(file));
}

export const read = (file: string): string => readFileSync(file, "utf8");

export function importsOf(from: string): Import[] {
  const found = read(from).matchAll(/^(?:import|export) (?:[^;]*?from )?"([^"]+)";|\bimport\("([^"]+)"\)/gm);
  return [...found].map(([, fixed, dynamic]) => ({ from: bare(from), to: resolve(from, fixed ?? dynamic ?? "") }));
}

function resolve(from: string, to: string): string {
  if (to.startsWith("@/")) return bare(to.slice(2));
  return to.startsWith(".") ? bare(path.relative(ROOT, path.resolve(path.dirname(from), to))) : to;
}

const bare = (file: string): string => file.replace(/\.tsx?$/, "");

function groupBy<T>(items: T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return groups;
}

/** The circles of a graph: its strongly connected components of more than one node (Tarjan, 1972). */
export function circlesOf(edges: Import[]): string[][] {
  const next = groupBy(edges, ({ from }) => from);
  const indexes = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  /** Returns the lowest index that is reached from a node. */
  const visit = (node: string): number => {
    const index = indexes.size;
    indexes.set(node, index);
    stack.push(node);
    let lowest = index;
    for (const { to } of next.get(node) ?? []) {
      if (!indexes.has(to)) lowest = Math.min(lowest, visit(to));
      else if (stack.includes(to)) lowest = Math.min(lowest, indexes.get(to) ?? index);
    }
    if (lowest < index) return lowest;
    const component = stack.splice(stack.indexOf(node));
    if (component.length > 1) circles.push(component.sort());
    return lowest;
  };
  for (const node of next.keys()) if (!indexes.has(node)) visit(node);
  return circles;
}
