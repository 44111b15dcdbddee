import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GROUPS } from "@/app/(web)/docs/reference/groups";
import { sampleRequest } from "@/app/(web)/docs/samples/request";
import { samplesOf } from "@/app/(web)/docs/samples/samples";
import { freePort } from "@/dev/free-port";
import { type DebianRoot, makeDebianRoot, openDebianRoot } from "@/tests/support/process/debian-root";
import { newDataDir, operatorKeyOf, startForTest } from "@/tests/support/process/service";
import { hasCommands } from "@/tests/support/requirements";
import { startHarness } from "./harness";

/** Swift of Debian, and what it lacks to build. */
const PACKAGES = [
  "swiftlang",
  "libc6-dev",
  "libstdc++-14-dev",
  "libgcc-14-dev",
  "binutils",
  "git",
  "ca-certificates",
  "libssl-dev",
];
const LIBRARIES = "/usr/libexec/swift/lib/swift/linux";
/** A root of an earlier run: SWIFT_ROOT=/var/tmp/swift npm run test:install -- tests/install/swift */
const { SWIFT_ROOT } = process.env;
/** In the order in which they import each other. */
const STUBS = [
  ...new Set(["SwiftUI", ...readdirSync("clients/swift/Stubs").map((file) => path.parse(file).name)]),
].filter((name) => name !== "README");

/** Of an app that takes HomeportKit as its customers do. */
const MANIFEST = `// swift-tools-version: 6.0
import PackageDescription
let package = Package(
  name: "App",
  dependencies: [.package(url: "file:///homeport", from: "1.1.0")],
  targets: [.executableTarget(name: "App", dependencies: [.product(name: "HomeportKit", package: "homeport")])]
)
`;

describe.runIf(hasCommands("mmdebstrap", "unshare"))("HomeportKit on Swift 6", () => {
  let root: DebianRoot;

  beforeAll(async () => {
    root = SWIFT_ROOT ? openDebianRoot(SWIFT_ROOT) : await makeDebianRoot(PACKAGES);
    writeFileSync(path.join(root.folder, "etc/ld.so.conf.d/swift.conf"), `${LIBRARIES}\n`);
    await root.run("ldconfig");
    const package_ = path.join(root.folder, "homeport");
    rmSync(package_, { recursive: true, force: true });
    for (const name of ["Package.swift", "clients/swift", "examples/swiftui"])
      cpSync(name, path.join(package_, name), { recursive: true });
  });
  afterAll(async () => {
    if (!SWIFT_ROOT) await root?.remove();
  });

  test("is formatted", async () => {
    await root.run(
      "cd /homeport && swift format lint --strict -r --configuration clients/swift/.swift-format Package.swift clients examples",
    );
  });

  test("builds without a warning, and its tests pass against a running service", async () => {
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}`;
    const oauthClients = [{ id: "ios", name: "Acme", redirectUris: ["com.example.acme:/callback"] }];
    const service = await startForTest({
      PORT: port,
      DATA_DIR: await newDataDir(),
      NEXTAUTH_URL: url,
      RATE_LIMITS: "off",
      OAUTH_CLIENTS: JSON.stringify(oauthClients),
      AUTH_APPLE_NATIVE_IDS: "com.example.acme",
    });
    const harness = await startHarness(service);
    try {
      const env = { HOMEPORT_URL: url, HOMEPORT_API_KEY: await operatorKeyOf(service), HARNESS_URL: harness.url };
      const output = await root.run(
        "cd /homeport && swift test --disable-xctest -Xswiftc -warnings-as-errors 2>&1",
        env,
      );
      expect(output).toMatch(/Test run with \d+ tests passed/);
      expect(output).not.toMatch(/skipped|warning:/);
    } finally {
      harness.close();
    }
  });

  test("is a dependency of an app by the URL of the repository and a version, and resolves nothing else", async () => {
    const app = path.join(root.folder, "tmp/app");
    rmSync(app, { recursive: true, force: true });
    mkdirSync(path.join(app, "Sources/App"), { recursive: true });
    writeFileSync(path.join(app, "Package.swift"), MANIFEST);
    writeFileSync(
      path.join(app, "Sources/App/main.swift"),
      "import HomeportKit\nprint(SignInError.stateMismatch.localizedDescription)\n",
    );
    const git = "git -c user.name=Test -c user.email=test@example.com -c safe.directory=*";
    const output = await root.run(`
      cd /homeport && rm -rf .git && ${git} init -q && ${git} add Package.swift clients && ${git} commit -qm Release && ${git} tag v1.1.0
      cd /tmp/app && swift build >&2 && .build/debug/App && grep -c '"identity"' Package.resolved`);
    expect(output).toBe("The browser returned from another sign-in.\n1\n");
  });

  test("type-checks on Apple's platforms, with the example, and with the samples of the documents", async () => {
    const samples = path.join(root.folder, "homeport/samples");
    mkdirSync(samples);
    for (const [name, code] of guideSamples()) writeFileSync(path.join(samples, `${name}.swift`), code);
    writeFileSync(path.join(root.folder, "homeport/Reference.swift"), referenceSamples());
    const check = "swiftc -swift-version 6 -parse-as-library -I /tmp/stubs";
    const compile = `${check} -warnings-as-errors`;
    const moduleOf = (name: string, files: string) =>
      `${compile} -emit-module -module-name ${name} -o /tmp/stubs/${name}.swiftmodule ${files}`;
    await root.run(`
      rm -rf /tmp/stubs && mkdir /tmp/stubs && cd /homeport
      ${STUBS.map((name) => `${moduleOf(name, `clients/swift/Stubs/${name}.swift`)}`).join("\n")}
      ${moduleOf("HomeportKit", "$(find clients/swift/Sources -name '*.swift')")}
      ${compile} -typecheck examples/swiftui/Acme/*.swift
      ${compile} -typecheck Reference.swift
      for sample in samples/*; do ${check} -suppress-warnings -typecheck "$sample"; done`);
    const wrong = 'try await Homeport(server: URL(string: "https://a.example")!, clientId: "a").deleteAccount(pin: 1)';
    writeFileSync(path.join(root.folder, "homeport/Wrong.swift"), statements(wrong));
    await expect(root.run(`cd /homeport && ${check} -typecheck Wrong.swift`)).rejects.toThrow("extra argument 'pin'");
  });
});

/** The Swift blocks of the documents, each a file. What an app would have around a few statements is added. */
function guideSamples(): [name: string, code: string][] {
  const guides = ["native-sign-in", "push-ios", "updates"].map((name) => `docs/guides/${name}.md`);
  return [...guides, "clients/swift/README.md", "examples/swiftui/README.md"].flatMap((file) => {
    const blocks = [...readFileSync(file, "utf8").matchAll(/^```swift\n([\s\S]*?)^```$/gm)];
    expect(blocks.length, file).toBeGreaterThan(0);
    return blocks.map(([, code = ""], i): [string, string] => {
      const name = `${file.replaceAll(/\W/g, "_")}_${i}`;
      return [name, /^import /m.test(code) ? code : statements(code)];
    });
  });
}

const statements = (code: string) => `import AuthenticationServices
import HomeportKit
import SwiftUI
@MainActor func sample(_ browser: WebAuthenticationSession) async throws {
${code}
}`;

/** The samples of the API reference, each a function whose parameters are their variables. */
function referenceSamples(): string {
  const functions = GROUPS.flatMap((group) => group.operations).map((operation) => {
    const samples = new Map(samplesOf(sampleRequest(operation, "https://api.example.com")));
    return `func ${operation.operationId}(token: String, apiKey: String, webhookAuthorization: String, file: URL) async throws {
${samples.get("Swift")}
print(data, response)
}`;
  });
  return ["import Foundation", "import FoundationNetworking", ...functions].join("\n");
}
