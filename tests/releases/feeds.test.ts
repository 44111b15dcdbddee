import { parseUpdateInfo } from "electron-updater/out/providers/Provider.js";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { describe, expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { BASE_URL, withContext } from "@/tests/support/context";
import { type EntryFields, manifestEntry, remoteArtifact, withCatalog } from "@/tests/support/releases/releases";
import { contentLength } from "@/tests/support/server";

const WINDOWS = "platform=windows&product=core&architecture=x64";
const MACOS = "platform=macos&product=core&architecture=arm64";
/** What a feed's text must survive: markup, ends of CDATA, controls, YAML's and JavaScript's line ends, half a pair. */
const HOSTILE =
  "a <b> & \"c\" 'd' ]]> --- : # \u0000\u0001\u000b\u007f\u0085\u2028\u2029\ufeff\ufffe \ud800 \u{1f680}\r\n- e";
const MINISIGN = Buffer.from(
  `untrusted comment: x\n${"A".repeat(99)}=\ntrusted comment: file:a\n${"B".repeat(86)}==\n`,
).toString("base64");
const ED_SIGNATURE = `${"C".repeat(86)}==`;

/** What XML 1.0 cannot hold becomes U+FFFD; parsers make one line end of two characters. */
const inXml = (text: string) =>
  ["\u0000", "\u0001", "\u000b", "\ufffe"].reduce(
    (made, one) => made.replaceAll(one, "\ufffd"),
    text.toWellFormed().replaceAll("\r\n", "\n"),
  );

const feed = (format: string, query: string, options?: Parameters<typeof get>[1]) =>
  get(`/api/version?${query}&format=${format}`, options);
const problem = async (response: Response) => ({ status: response.status, ...(await response.json()) });
const electron = async (query: string) => {
  const response = await feed("electron", query);
  return parseUpdateInfo(await response.text(), "latest.yml", new URL(response.url || BASE_URL));
};
type Item = Record<string, unknown> & { enclosure: Record<string, string> };
const appcast = async (query: string): Promise<Item[]> => {
  const text = await (await feed("sparkle", query)).text();
  expect(XMLValidator.validate(text)).toBe(true);
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: "",
    parseTagValue: false,
    isArray: (name) => name === "item",
  });
  const { rss } = parser.parse(text);
  expect(rss).toMatchObject({
    version: "2.0",
    "xmlns:sparkle": "http://www.andymatuschak.org/xml-namespaces/sparkle",
    channel: { title: "core", link: BASE_URL, description: "Updates of core" },
  });
  return rss.channel.item;
};

/** A release with an update of this file name, signed for Sparkle. */
const updatable = (fileName: string, change: EntryFields = {}, artifact: EntryFields = {}) =>
  manifestEntry({
    platform: fileName.endsWith(".exe") ? "windows" : "macos",
    architecture: fileName.endsWith(".exe") ? "x64" : "universal",
    artifacts: { update: remoteArtifact({ fileName, edSignature: ED_SIGNATURE, ...artifact }) },
    ...change,
  });

describe("every feed after a first start", () => {
  test.each([
    ["electron", WINDOWS, "application/yaml; charset=utf-8"],
    ["electron", MACOS, "application/yaml; charset=utf-8"],
    ["tauri", WINDOWS, "application/json"],
    ["tauri", MACOS, "application/json"],
    ["squirrel", MACOS, "application/json"],
    ["sparkle", WINDOWS, "application/rss+xml; charset=utf-8"],
    ["sparkle", MACOS, "application/rss+xml; charset=utf-8"],
  ])("%s for %s names a file that can be downloaded whole", async (format, query, contentType) => {
    const response = await feed(format.toUpperCase(), `${query}&current=1.0.0`);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, contentType]);
    expect(response.headers.get("cache-control")).toBe("public, max-age=60, stale-while-revalidate=300");
    const url = /http:[^\s"<]+version=1\.1\.0[^\s"<]*/.exec(await response.text())?.[0].replaceAll("&amp;", "&") ?? "";
    expect(url.startsWith(`${BASE_URL}/api/download/`)).toBe(true);
    const download = await get(url);
    expect(download.status).toBe(200);
    const extension = query === WINDOWS ? "exe" : format === "tauri" ? "tar.gz" : "zip";
    expect(download.headers.get("content-disposition")).toMatch(new RegExp(`\\.${extension}$`));
    const { byteLength } = await download.arrayBuffer();
    expect(download.headers.get("content-length")).toBe(contentLength(byteLength));
  });

  test.each(["electron", "tauri", "squirrel", "sparkle"])(
    "%s can be revalidated, and responds to HEAD",
    async (format) => {
      const path = `/api/version?${MACOS}&current=1.0.0&format=${format}`;
      const first = await get(path);
      const etag = first.headers.get("etag") ?? "";
      expect((await get(path, { headers: { "if-none-match": etag } })).status).toBe(304);
      const head = await call("HEAD", path);
      expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([200, "", etag]);
      expect(head.headers.get("content-type")).toBe(first.headers.get("content-type"));
    },
  );
});

describe("rejections", () => {
  test.each(["", "json", "electron%20", "__proto__"])("the unknown format %j", async (format) => {
    expect(await problem(await feed(format, WINDOWS))).toMatchObject({
      status: 400,
      code: "invalid_query",
      errors: [{ pointer: "?format", code: "invalid_value" }],
      allowed: { format: ["electron", "tauri", "squirrel", "sparkle"] },
    });
  });

  test("a partial selection, even an empty one", async () => {
    const missing = ["platform", "product", "architecture"];
    expect(await problem(await get("/api/version?format=tauri"))).toMatchObject({ status: 400, missing });
    expect(await problem(await feed("tauri", `${WINDOWS}&format=tauri`))).toMatchObject({ status: 400 });
  });

  test("an architecture that is not in the catalog, by the updater's name for it", async () => {
    for (const architecture of ["i686", "armv7"]) {
      const response = await feed("tauri", `platform=windows&product=core&architecture=${architecture}`);
      expect(await problem(response)).toMatchObject({ status: 400, allowed: { architecture: expect.any(Array) } });
    }
  });

  test("a selection while there is no catalog", () =>
    withCatalog(async ({ catalog }) => {
      await withContext({ catalog: { ...catalog, current: () => null } }, async () => {
        expect((await feed("sparkle", WINDOWS)).status).toBe(503);
      });
    }));
});

describe("electron", () => {
  test("has latest.yml's fields, as electron-updater parses them", () =>
    withCatalog(async (testCatalog) => {
      const release = { version: "2.0.0", notes: HOSTILE, minimumSystemVersion: "10.0.17763" };
      await testCatalog.publish(updatable("My Setup 2.0.0.exe", release));
      expect(await electron(`${WINDOWS}&current=1.0.0`)).toEqual({
        version: "2.0.0",
        files: [
          {
            url: `${BASE_URL}/api/download/windows?product=core&architecture=x64&channel=stable&version=2.0.0&kind=update`,
            sha512: remoteArtifact().sha512,
            size: 10,
          },
        ],
        path: "My Setup 2.0.0.exe",
        sha512: remoteArtifact().sha512,
        releaseDate: "2026-11-01T09:00:00.000Z",
        releaseNotes: HOSTILE.toWellFormed(),
        minimumSystemVersion: "10.0.17763",
      });
    }));

  test("names macOS's minimum as the Darwin version that os.release() returns", () =>
    withCatalog(async (testCatalog) => {
      for (const [minimumSystemVersion, darwin] of [
        ["9.2", undefined],
        ["10.15", "19.0.0"],
        ["11", "20.0.0"],
        ["12.3", "21.0.0"],
        ["15.1.2", "24.0.0"],
        ["26.0", "25.0.0"],
      ]) {
        await testCatalog.publish(updatable("app.zip", { minimumSystemVersion }));
        expect((await electron(`${MACOS}&systemVersion=26.1`)).minimumSystemVersion).toBe(darwin);
      }
    }));

  test("omits the rollout, which the service decides", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(
        updatable("setup.exe", { rollout: 99, id: "a" }),
        updatable("setup.exe", { version: "0.9.0" }),
      );
      expect(JSON.stringify(await electron(`${WINDOWS}&clientId=1`))).not.toContain("staging");
    }));

  test("repeats the client's version instead of an older one, except for a rollback", () =>
    withCatalog(async (testCatalog) => {
      const yanked = updatable("setup.exe", { version: "2.0.0", yanked: true });
      await testCatalog.publish(yanked, updatable("setup.exe", { version: "1.9.0" }));
      expect(await electron(`${WINDOWS}&current=2.0.0%2B7`)).toEqual({ version: "2.0.0+7", files: [] });
      expect(await electron(`${WINDOWS}&current=1.9.0`)).toMatchObject({ version: "1.9.0", files: [{ size: 10 }] });
      expect(await electron(WINDOWS)).toMatchObject({ version: "1.9.0" });
      await testCatalog.publish(yanked, updatable("setup.exe", { version: "1.9.0", rollback: true }));
      expect(await electron(`${WINDOWS}&current=2.0.0`)).toMatchObject({ version: "1.9.0", files: [{ size: 10 }] });
    }));
});

describe("tauri", () => {
  test("has the fields of Tauri's dynamic update server", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(
        updatable("app.app.tar.gz", { notes: HOSTILE, version: "2.0.0" }, { minisign: MINISIGN }),
      );
      expect(await (await feed("tauri", `${MACOS}&current=1.0.0`)).json()).toEqual({
        version: "2.0.0",
        notes: HOSTILE.toWellFormed(),
        pub_date: "2026-11-01T09:00:00.000Z",
        url: `${BASE_URL}/api/download/macos?product=core&architecture=universal&channel=stable&version=2.0.0&kind=update`,
        signature: MINISIGN,
      });
    }));

  test("is 204 for a client that is current or ahead, and 200 for a rollback", () =>
    withCatalog(async (testCatalog) => {
      const release = { version: "2.0.0" };
      await testCatalog.publish(updatable("setup.exe", release, { minisign: MINISIGN }));
      for (const current of ["2.0.0", "v2.0.0", "2.0.0%2Bbuild", "2.0.1"]) {
        const response = await feed("tauri", `${WINDOWS}&current=${current}`);
        expect([response.status, await response.text(), response.headers.get("etag")]).toEqual([204, "", null]);
        expect(response.headers.get("cache-control")).toBe("private, no-cache");
      }
      expect((await feed("tauri", `${WINDOWS}&current=2.0.0-rc.1`)).status).toBe(200);
      await testCatalog.publish(updatable("setup.exe", { ...release, rollback: true }, { minisign: MINISIGN }));
      expect((await feed("tauri", `${WINDOWS}&current=2.0.1`)).status).toBe(200);
    }));

  test("skips releases that Tauri rejects: without a signature, or with a file that it cannot unpack", () =>
    withCatalog(async (testCatalog) => {
      const signed = updatable("app.tar.gz", { version: "1.0.0" }, { minisign: MINISIGN });
      const unsigned = updatable("app.tar.gz", { version: "1.1.0" });
      const zipped = updatable("app.zip", { version: "1.2.0" }, { minisign: MINISIGN });
      await testCatalog.publish(signed, unsigned, zipped);
      expect(await (await feed("tauri", `${MACOS}&current=0.9.0`)).json()).toMatchObject({ version: "1.0.0" });
      await testCatalog.publish(unsigned, zipped);
      expect(await problem(await feed("tauri", `${MACOS}&current=0.9.0`))).toMatchObject({
        status: 404,
        code: "release_not_found",
        detail: expect.stringContaining("minisign"),
      });
    }));

  test("accepts a signature as minisign writes it", () =>
    withCatalog(async (testCatalog) => {
      const minisign = Buffer.from(MINISIGN, "base64").toString();
      await testCatalog.publish(updatable("setup.exe", {}, { minisign }));
      expect(await (await feed("tauri", WINDOWS)).json()).toMatchObject({ signature: MINISIGN });
    }));
});

describe("squirrel", () => {
  test("has the fields that Squirrel.Mac parses, with a date without fractions", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(updatable("App.zip", { version: "2.0.0", notes: "New" }));
      expect(await (await feed("squirrel", `${MACOS}&current=1.0.0`)).json()).toEqual({
        url: `${BASE_URL}/api/download/macos?product=core&architecture=universal&channel=stable&version=2.0.0&kind=update`,
        name: "2.0.0",
        notes: "New",
        pub_date: "2026-11-01T09:00:00Z",
      });
    }));

  test("is 204 for a client that is current or ahead", async () => {
    for (const current of ["1.1.0", "9.0.0"]) {
      const response = await feed("squirrel", `${MACOS}&current=${current}`);
      expect([response.status, response.headers.get("cache-control")]).toEqual([204, "private, no-cache"]);
    }
  });

  test("requires the installed version, because Squirrel.Mac installs every version that it is offered", async () => {
    const answer = await problem(await feed("squirrel", MACOS));
    expect(answer).toMatchObject({ status: 400, missing: ["current"], errors: [{ pointer: "?current" }] });
  });

  test("is for macOS only", async () => {
    const answer = await problem(await feed("squirrel", `${WINDOWS}&current=1.0.0`));
    expect(answer).toMatchObject({ status: 400, errors: [{ pointer: "?platform" }], allowed: { platform: ["macos"] } });
  });
});

describe("sparkle", () => {
  test("has Sparkle's elements", () =>
    withCatalog(async (testCatalog) => {
      const release = { version: "2.0.0-beta.1", buildVersion: "200.1", minimumSystemVersion: "12.3", notes: HOSTILE };
      const phased = { phasedRolloutIntervalSeconds: 86_400, critical: true, channel: "beta" };
      const artifact = { edSignature: ED_SIGNATURE, contentType: "application/zip" };
      await testCatalog.publish(updatable("App.zip", { ...release, ...phased }, artifact));
      expect(await appcast(`${MACOS}&channel=beta`)).toEqual([
        {
          title: "2.0.0-beta.1",
          pubDate: "Sun, 01 Nov 2026 09:00:00 +0000",
          "sparkle:version": "200.1",
          "sparkle:shortVersionString": "2.0.0-beta.1",
          "sparkle:criticalUpdate": "",
          "sparkle:minimumSystemVersion": "12.3",
          "sparkle:phasedRolloutInterval": "86400",
          description: { "sparkle:format": "markdown", "#text": inXml(HOSTILE) },
          enclosure: {
            url: `${BASE_URL}/api/download/macos?product=core&architecture=universal&channel=beta&version=2.0.0-beta.1&kind=update`,
            length: "10",
            type: "application/zip",
            "sparkle:edSignature": ED_SIGNATURE,
          },
        },
      ]);
    }));

  test("is critical below the oldest supported version, and for clients known to be below it", () =>
    withCatalog(async (testCatalog) => {
      const critical = async (query: string) => (await appcast(query))[0]?.["sparkle:criticalUpdate"];
      const release = { version: "2.0.0", minimumSupportedVersion: "1.5.0" };
      await testCatalog.publish(updatable("App.zip", release), updatable("setup.exe", release));
      expect(await critical(MACOS)).toEqual({ "sparkle:version": "1.5.0" });
      expect(await critical(`${MACOS}&current=1.6.0`)).toEqual({ "sparkle:version": "1.5.0" });
      expect(await critical(`${MACOS}&current=1.4.0`)).toBe("");
      // WinSparkle does not read the attribute: it would hold everybody to it.
      expect(await critical(WINDOWS)).toBeUndefined();
      expect(await critical(`${WINDOWS}&current=1.4.0`)).toBe("");
    }));

  test("keeps an older release's minimum, by the build versions that the client compares", () =>
    withCatalog(async (testCatalog) => {
      const critical = async (query: string) => (await appcast(query))[0]?.["sparkle:criticalUpdate"];
      const fixed = { version: "1.5.0", critical: true };
      await testCatalog.publish(updatable("App.zip", { version: "2.0.0" }), updatable("App.zip", fixed));
      expect(await critical(MACOS)).toEqual({ "sparkle:version": "1.5.0" });
      expect(await critical(`${MACOS}&current=1.4`)).toBe("");
      const built = [
        { version: "2.0.0", buildVersion: "200" },
        { ...fixed, buildVersion: "150" },
      ];
      await testCatalog.publish(...built.map((release) => updatable("App.zip", release)));
      expect(await critical(MACOS)).toEqual({ "sparkle:version": "150" });
      await testCatalog.publish(...[built[0], fixed].map((release) => updatable("App.zip", release)));
      expect(await critical(MACOS)).toBeUndefined();
    }));

  test("skips unsigned releases, which an app with a public key rejects", () =>
    withCatalog(async (testCatalog) => {
      const unsigned = { edSignature: undefined };
      const dmg = { installer: remoteArtifact({ fileName: "App.dmg" }) };
      const before = [updatable("App.zip"), updatable("setup.exe")];
      const after = [
        updatable("setup.exe", { version: "2.0.0" }, unsigned),
        updatable("App.zip", { version: "2.0.0" }, unsigned),
      ];
      await testCatalog.publish(...before, ...after, updatable("App.zip", { version: "3.0.0", artifacts: dmg }));
      for (const query of [WINDOWS, MACOS]) expect((await appcast(query)).map((item) => item.title)).toEqual(["1.0.0"]);
      await testCatalog.publish(...after);
      expect(await problem(await feed("sparkle", MACOS))).toMatchObject({
        status: 404,
        code: "release_not_found",
        detail: expect.stringContaining("EdDSA"),
      });
    }));

  test("for WinSparkle is marked for Windows, with notes in HTML and a minimum that it can compare", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(updatable("setup.exe", { notes: "# <New>", minimumSystemVersion: "10.0.17763" }));
      const [item] = await appcast(`${WINDOWS}&systemVersion=10.0.17763`);
      expect(item).toMatchObject({
        "sparkle:minimumSystemVersion": "10.0",
        description: "<pre># &lt;New&gt;</pre>",
        enclosure: { "sparkle:os": "windows" },
      });
    }));

  test("links to the notes if they have a URL, and marks an installer package", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(updatable("App.pkg", { notes: "Here", notesUrl: "https://example.com/notes?a=1&b=2" }));
      const [item] = await appcast(MACOS);
      expect(item).toMatchObject({
        "sparkle:releaseNotesLink": "https://example.com/notes?a=1&b=2",
        enclosure: { "sparkle:installationType": "package" },
      });
      expect(item).not.toHaveProperty("description");
    }));

  test("has more items for systems that the newest release does not support", () =>
    withCatalog(async (testCatalog) => {
      const of = (version: string, minimumSystemVersion?: string) =>
        updatable("App.zip", { version, minimumSystemVersion });
      await testCatalog.publish(
        of("3.0.0", "14.0"),
        of("2.9.0", "14.0"),
        of("2.0.0", "12.0"),
        of("1.0.0"),
        of("0.9.0"),
      );
      const items = await appcast(MACOS);
      expect(items.map((item) => item["sparkle:version"])).toEqual(["3.0.0", "2.0.0", "1.0.0"]);
    }));

  test("has no phased rollout for a release that the service rolls out", () =>
    withCatalog(async (testCatalog) => {
      const partial = { version: "2.0.0", rollout: 99, phasedRolloutIntervalSeconds: 86_400 };
      await testCatalog.publish(updatable("App.zip", partial), updatable("App.zip", { version: "1.0.0" }));
      const seen = await Promise.all(Array.from({ length: 20 }, (_, i) => appcast(`${MACOS}&clientId=${i}`)));
      const items = seen.flat().filter((item) => item["sparkle:version"] === "2.0.0");
      expect(items.length).toBeGreaterThan(0);
      for (const item of items) expect(item).not.toHaveProperty("sparkle:phasedRolloutInterval");
    }));
});

describe("a minimum system version", () => {
  const SIGNED = { edSignature: ED_SIGNATURE, minisign: MINISIGN };
  const windows = (version: string, minimumSystemVersion?: string) =>
    updatable("setup.exe", { version, minimumSystemVersion }, SIGNED);
  const mac = (version: string, fileName: string, minimumSystemVersion?: string) =>
    updatable(fileName, { version, minimumSystemVersion }, SIGNED);
  /** The version that a feed names; null for none. */
  const named = async (format: string, query: string) => {
    const response = await feed(format, query);
    if (response.status === 204) return null;
    const text = await response.text();
    return /"?(?:version|name)"?: ?"([^"]+)"|<title>(\d[^<]*)/.exec(text)?.slice(1).find(Boolean) ?? null;
  };

  test.each([
    ["tauri", WINDOWS, "setup.exe"],
    ["sparkle", WINDOWS, "setup.exe"],
    ["tauri", MACOS, "App.tar.gz"],
    ["squirrel", MACOS, "App.zip"],
    ["electron", MACOS, "App.zip"],
  ])("that %s's updater does not compare is compared here (%s)", (format, query, fileName) =>
    withCatalog(async (testCatalog) => {
      const release = (version: string, minimumSystemVersion?: string) =>
        updatable(fileName, { version, minimumSystemVersion }, SIGNED);
      await testCatalog.publish(release("1.0.0"), release("1.1.0"), release("2.0.0", "12.3.1"));
      const at = (systemVersion: string) => named(format, `${query}&current=1.0.0${systemVersion}`);
      expect(await at("")).toBe("1.1.0");
      expect(await at("&systemVersion=12.3")).toBe("1.1.0");
      expect(await at("&systemVersion=12.3.1")).toBe("2.0.0");
      expect(await at("&systemVersion=12.10")).toBe("2.0.0");
    }),
  );

  test("of the installed release does not block the next one, not even after a yank", () =>
    withCatalog(async (testCatalog) => {
      const installed = { version: "1.1.0", minimumSystemVersion: "12.3", yanked: true };
      await testCatalog.publish(
        mac("1.0.0", "App.zip"),
        updatable("App.zip", installed),
        mac("1.2.0", "App.zip", "12.3"),
        mac("1.3.0", "App.zip", "13.0"),
      );
      expect(await named("squirrel", `${MACOS}&current=1.1.0`)).toBe("1.2.0");
      expect(await named("squirrel", `${MACOS}&current=1.0.0`)).toBeNull();
    }));

  test("is left to the updater that compares it", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(
        windows("1.0.0", "10.0.22000"),
        mac("1.0.0", "App.zip", "12.3"),
        mac("0.9.0", "App.zip", "12.0"),
      );
      expect(await named("electron", `${WINDOWS}&current=0.9.0`)).toBe("1.0.0");
      expect(await named("sparkle", `${MACOS}&current=0.9.0`)).toBe("1.0.0");
      expect(await named("electron", `${MACOS}&current=0.9.0`)).toBe("0.9.0");
      expect((await get(`/api/version?${WINDOWS}&current=0.9.0`)).status).toBe(200);
      expect((await get(`/api/version?${WINDOWS}&current=0.9.0&systemVersion=10.0.19045`)).status).toBe(404);
      expect((await get(`/api/version?${WINDOWS}&systemVersion=10.0.22631.4169`)).status).toBe(200);
    }));

  test.each(["Sonoma", "", "12.", "1".repeat(65)])("is compared with numbers alone, not with %j", async (text) => {
    expect(await problem(await feed("sparkle", `${MACOS}&systemVersion=${text}`))).toMatchObject({
      status: 400,
      errors: [{ pointer: "?systemVersion" }],
    });
  });
});
