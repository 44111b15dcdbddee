import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { SOURCES } from "./build/fingerprint.mjs";

/** The sources, because each start compares them with the build, and what operators read and install. */
const WHOLE = [...SOURCES, "prisma", "package.json", "docs", "deploy", "README.md", "LICENSE", ".env.example"];
const BUILD = ".next";
/** Most of these files are Next's copies of the API. The service runs its own. */
const CHUNKS = `${BUILD}/server/chunks`;
const NOT_WHOLE = [
  CHUNKS,
  ...["cache", "diagnostics", "trace", "trace-build", "types"].map((name) => `${BUILD}/${name}`),
];
/** What Next has resolved, with the folder of the build. */
const RESOLVED = ["js", "json"].map((type) => `${BUILD}/required-server-files.${type}`);
/**
 * In packages: source maps, types, tests, what is compiled for Bare, another runtime, the builds of Next and of React for
 * development and experiments, Next's compilers, and Prisma's support of other databases.
 */
const NOT_LOADED = new RegExp(
  [
    "\\.(map|bare|[cm]?ts)$",
    "\\.(runtime\\.dev|development|profiling)\\.js$",
    "/bintrees/test$",
    "/next/dist/(docs|esm)$",
    "/next/dist/compiled/(babel|babel-packages|webpack|.*-experimental)$",
    "/query_compiler_(?!fast_bg\\.postgresql\\.)",
  ].join("|"),
);

// package.mjs FOLDER: copies the built service to an empty folder, with the packages that it loads.
const [, , folder] = process.argv;
if (!folder) end("Usage: npm run package -- FOLDER");
if (existsSync(folder) && readdirSync(folder).length > 0) end(`${folder} is not empty.`);
await import("./build.mjs");
for (const name of productionPackages()) copy(name, isLoadedOf(name));
for (const name of WHOLE.filter((name) => existsSync(name))) copy(name, (file) => file !== "clients/js/dist");
copy(BUILD, (file) => !NOT_WHOLE.includes(file) && !/\.(map|nft\.json)$/.test(file));
for (const file of chunksOfPages()) copy(file);
for (const file of RESOLVED) forgetFolder(path.join(folder, file));

/** The folders of the packages that the service depends on. What is optional (sharp) resizes images, which no page needs. */
function productionPackages() {
  const { packages } = JSON.parse(readFileSync("node_modules/.package-lock.json", "utf8"));
  const isLoaded = ({ dev, devOptional, optional }) => !dev && !devOptional && !optional;
  return Object.keys(packages).filter((name) => isLoaded(packages[name]) && !name.includes("/@types/"));
}

/** Which files of a package to copy. Packages inside of it are listed by themselves. */
function isLoadedOf(name) {
  return (file) => !NOT_LOADED.test(file) && !file.startsWith(`${name}/node_modules`);
}

/** The files in CHUNKS that Next says its pages load. */
function chunksOfPages() {
  const lists = readdirSync(BUILD, { recursive: true }).filter((name) => /(?<!\/route\.js)\.nft\.json$/.test(name));
  const files = lists.flatMap((list) => {
    const at = path.join(BUILD, path.dirname(list));
    return JSON.parse(readFileSync(path.join(BUILD, list), "utf8")).files.map((file) => path.join(at, file));
  });
  return new Set(files.filter((file) => file.startsWith(`${CHUNKS}/`)));
}

function forgetFolder(file) {
  writeFileSync(file, readFileSync(file, "utf8").replaceAll(process.cwd(), "."));
}

function copy(file, filter) {
  cpSync(file, path.join(folder, file), { recursive: true, verbatimSymlinks: true, filter });
}

function end(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
