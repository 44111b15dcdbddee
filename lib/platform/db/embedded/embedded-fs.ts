import type { PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import type { WalFlush } from "./wal-flush";

/** The parts of Emscripten's NODEFS that are used here and that its types omit. */
type FsNode = { name: string; parent: FsNode };
type Stream = { node: FsNode; nfd: number };
type Operation = (...args: never[]) => unknown;
type Operations = Record<string, Operation | undefined>;
type NodeFsModule = { realPath: (node: FsNode) => string; node_ops: Operations; stream_ops: Operations };
type EmscriptenOptions = Parameters<NodeFS["init"]>[1];

/** Operations that change a file or folder. Their first argument is a stream or a node. */
const STREAM_CHANGES = ["write", "setattr", "msync"];
const NODE_CHANGES = ["setattr", "mknod", "rename", "unlink", "rmdir", "symlink"];
const SEGMENT = /^[0-9A-F]{24}$/;

/**
 * PGlite's file system with a working fsync: in PGlite 0.5, NODEFS does not implement it, so PostgreSQL's calls do
 * nothing (github.com/electric-sql/pglite/issues/1107). `wal` flushes the log segments, and does so before any other
 * file changes, because the log has to be on disk before the data pages (PostgreSQL 17, 28.3). Without `wal`, no file
 * is synced.
 */
export class EmbeddedFS extends NodeFS {
  readonly #wal: WalFlush | null;
  #onSegment: (name: string) => void = () => {};

  constructor(folder: string, wal: WalFlush | null) {
    super(folder);
    this.#wal = wal;
  }

  override async init(pg: PGlite, options: EmscriptenOptions): Promise<{ emscriptenOpts: EmscriptenOptions }> {
    const { emscriptenOpts } = await super.init(pg, options);
    const install = (module: unknown) => {
      const { NODEFS } = module as { NODEFS: NodeFsModule };
      if (this.#wal) syncFiles(NODEFS, this.#wal);
      before(NODEFS.stream_ops, "write", ({ node }: Stream) => isSegment(node) && this.#onSegment(node.name));
    };
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [install, ...(emscriptenOpts.preRun ?? [])] } };
  }

  /** Calls `run` each time PostgreSQL has started to write `count` more log segments. */
  onEverySegments(count: number, run: () => void): void {
    let last = "";
    let started = 0;
    this.#onSegment = (name) => {
      if (name === last) return;
      last = name;
      started += 1;
      if (started % count === 0) run();
    };
  }
}

function syncFiles({ realPath, node_ops: nodes, stream_ops: streams }: NodeFsModule, wal: WalFlush): void {
  streams.fsync = ({ node, nfd }: Stream) => {
    if (isSegment(node)) wal.request(realPath(node));
    else wal.syncFile(nfd);
    return 0;
  };
  const logFirst = (node: FsNode) => isInLog(node) || wal.flushNow();
  for (const name of STREAM_CHANGES) before(streams, name, ({ node }: Stream) => logFirst(node));
  for (const name of NODE_CHANGES) before(nodes, name, logFirst);
}

/** Calls `act` before each call of an operation. @throws Error if PGlite has no such operation */
function before<T>(operations: Operations, name: string, act: (on: T) => unknown): void {
  const run = operations[name] as ((on: T, ...rest: unknown[]) => unknown) | undefined;
  if (!run) throw new Error(`PGlite's file system has no operation ${name}`);
  operations[name] = (on: T, ...rest: unknown[]) => {
    act(on);
    return run(on, ...rest);
  };
}

const isInLog = (node: FsNode): boolean => node.name === "pg_wal" || node.parent.name === "pg_wal";
const isSegment = (node: FsNode): boolean => node.parent.name === "pg_wal" && SEGMENT.test(node.name);
