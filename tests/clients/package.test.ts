import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";

const MAX_KIB = 12;

async function bundledKiB(contents: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: "clients/js/src", loader: "ts" },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2022",
  });
  return gzipSync(outputFiles[0]?.contents ?? "").length / 1024;
}

describe("the package @homeport/client", () => {
  test("adds at most 12 KiB to a web app, and less to one that uses a part", async () => {
    const whole = await bundledKiB('export * from "./index";');
    const part = await bundledKiB('export { verifyWebhook } from "./index";');
    expect(whole).toBeLessThanOrEqual(MAX_KIB);
    expect(part).toBeLessThan(whole / 3);
  });

  test("has no dependency, and the version of the service", () => {
    const described = JSON.parse(readFileSync("clients/js/package.json", "utf8"));
    const service = JSON.parse(readFileSync("package.json", "utf8"));
    expect(described).toMatchObject({ version: service.version, license: service.license });
    expect(described.sideEffects).toEqual(["./dist/push-worker.js"]);
    expect(Object.keys(described).filter((key) => /dependencies/i.test(key))).toEqual([]);
  });
});
