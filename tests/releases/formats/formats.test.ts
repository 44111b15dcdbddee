import { describe, expect, test } from "vitest";
import { call, get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import {
  ED_SIGNATURE,
  getElectronFeed,
  getFeed,
  MACOS,
  MINISIGN,
  problemOf,
  updatable,
  WINDOWS,
} from "@/tests/support/releases/feeds";
import { withCatalog } from "@/tests/support/releases/releases";
import { contentLength } from "@/tests/support/server";

describe("every feed after a first start", () => {
  test.each([
    ["electron", WINDOWS, "application/yaml; charset=utf-8"],
    ["tauri", MACOS, "application/json"],
    ["squirrel", MACOS, "application/json"],
    ["sparkle", WINDOWS, "application/rss+xml; charset=utf-8"],
  ])("%s for %s names a file that can be downloaded whole", async (format, query, contentType) => {
    const response = await getFeed(format.toUpperCase(), `${query}&current=1.0.0`);
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

  test("can be revalidated, and responds to HEAD", async () => {
    const path = `/api/version?${MACOS}&current=1.0.0&format=tauri`;
    const first = await get(path);
    const etag = first.headers.get("etag") ?? "";
    expect((await get(path, { headers: { "if-none-match": etag } })).status).toBe(304);
    const head = await call("HEAD", path);
    expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([200, "", etag]);
    expect(head.headers.get("content-type")).toBe(first.headers.get("content-type"));
  });
});

describe("rejections", () => {
  test.each(["json", "__proto__"])("the unknown format %j", async (format) => {
    expect(await problemOf(await getFeed(format, WINDOWS))).toMatchObject({
      status: 400,
      code: "invalid_query",
      errors: [{ pointer: "?format", code: "invalid_value" }],
      allowed: { format: ["electron", "tauri", "squirrel", "sparkle"] },
    });
  });

  test("a partial selection, even an empty one", async () => {
    const missing = ["platform", "product", "architecture"];
    expect(await problemOf(await get("/api/version?format=tauri"))).toMatchObject({ status: 400, missing });
    expect(await problemOf(await getFeed("tauri", `${WINDOWS}&format=tauri`))).toMatchObject({ status: 400 });
  });
});

describe("a minimum system version", () => {
  const SIGNED = { edSignature: ED_SIGNATURE, minisign: MINISIGN };
  const windows = (version: string, minimumSystemVersion?: string) =>
    updatable("setup.exe", { version, minimumSystemVersion }, SIGNED);
  const mac = (version: string, fileName: string, minimumSystemVersion?: string) =>
    updatable(fileName, { version, minimumSystemVersion }, SIGNED);
  /** The version that a feed names; null for none. */
  const named = async (format: string, query: string) => {
    const response = await getFeed(format, query);
    if (response.status === 204) return null;
    const text = await response.text();
    return /"?(?:version|name)"?: ?"([^"]+)"|<title>(\d[^<]*)/.exec(text)?.slice(1).find(Boolean) ?? null;
  };

  test.each([
    ["tauri", WINDOWS, "setup.exe"],
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

  test("is compared with the Darwin version of a User-Agent, which no shared cache mixes up", () =>
    withCatalog(async (testCatalog) => {
      await testCatalog.publish(
        mac("1.1.0", "App.zip"),
        mac("2.0.0", "App.zip", "14.0"),
        mac("3.0.0", "App.zip", "26.1"),
      );
      const seen = async (darwin: string, query = "") => {
        const headers = { "user-agent": `App/1.0 CFNetwork/1494.0.7 Darwin/${darwin}` };
        const response = await getFeed("squirrel", `${MACOS}&current=1.0.0${query}`, { headers });
        const { name } = (await response.json()) as { name: string };
        return [name, response.headers.get("cache-control")];
      };
      expect(await seen("23.4.0")).toEqual(["2.0.0", "private, no-cache"]);
      expect(await seen("22.6.0")).toEqual(["1.1.0", "private, no-cache"]);
      expect(await seen("25.2.0")).toEqual(["2.0.0", "private, no-cache"]);
      expect((await seen("25.2.0", "&systemVersion=26.2"))[0]).toBe("3.0.0");
      expect((await seen("23.4.0", "&systemVersion=13.0"))[0]).toBe("1.1.0");
      expect(await named("squirrel", `${MACOS}&current=1.0.0`)).toBe("1.1.0");
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

  test.each(["Sonoma", "12."])("is compared with numbers alone, not with %j", async (text) => {
    expect(await problemOf(await getFeed("sparkle", `${MACOS}&systemVersion=${text}`))).toMatchObject({
      status: 400,
      errors: [{ pointer: "?systemVersion" }],
    });
  });

  test("is named to electron-updater on macOS as the Darwin version that os.release() returns", () =>
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
        expect((await getElectronFeed(`${MACOS}&systemVersion=26.1`)).minimumSystemVersion).toBe(darwin);
      }
    }));
});
