import { readFileSync } from "node:fs";
import { minVersion } from "semver";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { get } from "@/tests/support/api";
import { manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";
import { MINISIGN } from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";

/** Where the examples expect the service. */
const HOST = "http://localhost:3000";

test("the updaters of the examples find their feeds", async () => {
  const { publish } = parse(readFileSync("examples/electron/electron-builder.yml", "utf8"));
  const { plugins } = JSON.parse(readFileSync("examples/tauri/src-tauri/tauri.conf.json", "utf8"));
  const tauri = String(plugins.updater.endpoints[0])
    .replace("{{target}}", "windows")
    .replace("{{arch}}", "x86_64")
    .replace("{{current_version}}", "1.0.0")
    .replace("{{bundle_type}}", "nsis");
  const update = remoteArtifact({ fileName: "Setup.exe", minisign: MINISIGN });
  const release = manifestEntry({ platform: "windows", architecture: "x64", version: "1.1.0", artifacts: { update } });
  await withCatalog(async ({ publish: add }) => {
    await add(release);
    for (const url of [`${publish.url}/latest.yml`, tauri]) {
      expect(url.startsWith(`${HOST}/`)).toBe(true);
      const response = await get(url.slice(HOST.length));
      expect({ url, status: response.status, text: await response.text() }).toMatchObject({
        status: 200,
        text: expect.stringContaining("1.1.0"),
      });
    }
  });
});

test("the examples take the client of the service, and their READMEs say on which Node and use what it exports", () => {
  const source = readFileSync("clients/js/src/index.ts", "utf8") + readFileSync("clients/js/src/node.ts", "utf8");
  const modules = [...source.matchAll(/export \* from "\.\/(.*)\.js"/g)].map(([, name]) =>
    readFileSync(`clients/js/src/${name}.ts`, "utf8"),
  );
  const exported = [source, ...modules].join("\n");
  for (const name of ["electron", "next", "tauri"]) {
    const { engines, ...packages } = JSON.parse(readFileSync(`examples/${name}/package.json`, "utf8"));
    const client = `${HOST}/install/client.tgz`;
    expect({ ...packages.dependencies, ...packages.devDependencies }).toMatchObject({ "@homeport/client": client });
    const readme = readFileSync(`examples/${name}/README.md`, "utf8");
    expect(readme).toContain(`Node.js ${minVersion(engines.node)?.version.replace(/\.0$/, "")}`);
    const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(code.trim().split("\n")).toHaveLength(5);
    const called = [...code.matchAll(/(\w+)\(homeport/g)].map(([, call = ""]) => call);
    expect(called.filter((call) => !new RegExp(`\\b${call}\\b`).test(exported))).toEqual([]);
  }
});
