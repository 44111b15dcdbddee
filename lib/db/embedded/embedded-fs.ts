import type { PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import type { WalFlush } from "./wal-flush";

/** The parts of Emscripten's NODEFS that are used here; its own types leave them out. */
type FsNode = { name: string; parent: FsNode };
type Stream = { node: FsNode; nfd: number };
type Operation = (...args: never[]) => unknown;
type Operations = Record<string, Operation | undefined>;
type NodeFsModule = { realPath: (node: FsNode) => string; node_ops: Operations; stream_ops: Operations };
type EmscriptenOptions = Parameters<NodeFS["init"]>[1];

/** What changes a file or folder, and takes a stream or its node as its first argument. */
const STREAM_CHANGES = ["write", "setattr", "msync"];
const NODE_CHANGES = ["setattr", "mknod", "rename", "unlink", "rmdir", "symlink"];
const SEGMENT = /^[0-9A-F]{24}$/;

/**
 * PGlite's files on the disk, with an fsync that is one: in PGlite 0.5 NODEFS has none, so PostgreSQL's calls succeed and do
 * nothing (github.com/electric-sql/pglite/issues/1107). The flush of a log segment is left to `wal`, and is done
 * before any other file changes: "log records must be flushed before data pages" (PostgreSQL 17, 28.3). Without `wal`
 * nothing is synced.
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

  /** Has `run` called each time that the log has gone on for so many more segments. */
  onEverySegments(count: number, run: () => void): void {
    let last = "";
    let begun = 0;
    this.#onSegment = (name) => {
      if (name === last) return;
      last = name;
      begun += 1;
      if (begun % count === 0) run();
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

/** Has something done before an operation. @throws Error where PGlite has no such operation. */
function before<T>(operations: Operations, name: string, act: (on: T) => unknown): void {
  const run = operations[name] as ((on: T, ...rest: unknown[]) => unknown) | undefined;
  if (!run) throw new Error(`PGlite's file system has no operation ${name}`);
  operations[name] = (on: T, ...rest: unknown[]) => {
    act(on);
    return run(on, ...rest);
  };
}

/** Whether it is the log's folder, or a file in it. */
const isInLog = (node: FsNode): boolean => node.name === "pg_wal" || node.parent.name === "pg_wal";
const isSegment = (node: FsNode): boolean => node.parent.name === "pg_wal" && SEGMENT.test(node.name);
