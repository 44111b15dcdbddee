import { expect, test } from "vitest";
import { codeFiles, read, sourceFiles } from "@/tests/support/sources";

const files = ["app", "lib", "scripts", "server.ts", "proxy.ts", "worker.ts", "instrumentation.ts"].flatMap(
  sourceFiles,
);
const everything = ["app", "lib", "dev", "scripts"].flatMap(codeFiles);
const service = files.filter((file) => !file.startsWith("scripts/"));
const tests = sourceFiles("tests").filter((file) => !file.startsWith("tests/project/"));

test("the environment is read in lib/platform/config.ts alone", () => {
  const readers = service.filter((file) => /process\.env(?!\.\w+ = )/.test(read(file)));
  expect(readers).toEqual(["lib/platform/config.ts", "proxy.ts", "instrumentation.ts"]);
});

test("a route of the API names its operations, and its folder has nothing else", () => {
  const api = files.filter((file) => /^app\/(api|\.well-known)\//.test(file));
  expect(api.length).toBeGreaterThanOrEqual(100);
  expect(api.filter((file) => !file.endsWith("/route.ts"))).toEqual([]);
  const declaring = api.filter((file) => /\brun: |\brun\(|\boperation\(/.test(read(file)));
  expect(declaring).toEqual([]);
  const routes = files.filter((file) => file.startsWith("app/") && file.endsWith("/route.ts"));
  expect(routes.filter((file) => read(file).match(/^export /gm)?.length !== 1)).toEqual([]);
});

// Biome limits functions to 50 lines: noExcessiveLinesPerFunction in biome.json.
test("files have names that say what is in them", () => {
  expect(everything.filter((file) => /\/(utils?|helpers?|common|misc|index)\.\w+$/.test(file))).toEqual([]);
});

test("no object or array literal is spread to save lines", () => {
  const all = [...files, ...everything, ...sourceFiles("tests")];
  expect(all.filter((file) => /\.\.\.\{\s*\w/.test(read(file)))).toEqual([]);
  // One level of brackets inside; not what a method returns, nor rest parameters.
  expect(all.filter((file) => /\.\.\.\[(?:[^[\]]|\[[^\]]*\])*\](?=\s*[,\]])/.test(read(file)))).toEqual([]);
});

test("tests mock no module, and compare with no snapshot", () => {
  expect(tests.length).toBeGreaterThan(100);
  expect(tests.filter((file) => /\bvi\.(mock|doMock|hoisted)\(|toMatch(Inline)?Snapshot/.test(read(file)))).toEqual([]);
});

/** Every way to leave a test out, however it is written. */
const SKIP = /\.(?:only|skip|skipIf|runIf|todo|fails)\b|\b(?:skip|todo)(?:\(|\s*[:,}])|\b(?:only|fails): true/g;
/** The way that tests use: with a tool that is required, or by the name of such a condition. */
const RUN_IF = /^\.runIf\(\s*(?:hasCommands\([^()]*\)|(\w+)),?\s*\)\(/;
/** How tests run: with which server, and which database. */
const RUN_WITH = ["callsHandlers", "postgresUrl"];

test("tests are skipped only where a tool is missing, which CI does not accept, or by how they run", () => {
  const support = sourceFiles("tests/support").map(read).join("\n");
  // `requirement` and `hasCommands` throw if CI is set.
  const isRequirement = (name: string, text: string) =>
    new RegExp(`\\bconst ${name} =[^;]*\\b(?:requirement|hasCommands)\\(`).test(`${text}\n${support}`);
  const skips = tests.flatMap((file) => {
    const text = read(file);
    return [...text.matchAll(SKIP)].map(({ index }) => {
      const [runIf, name] = text.slice(index).match(RUN_IF) ?? [];
      const isAllowed = runIf && (!name || RUN_WITH.includes(name) || isRequirement(name, text));
      return { place: `${file}: ${text.slice(index, index + 40)}`, isAllowed: Boolean(isAllowed) };
    });
  });
  expect(skips.length).toBeGreaterThan(70);
  expect(skips.filter((skip) => !skip.isAllowed)).toEqual([]);
});
