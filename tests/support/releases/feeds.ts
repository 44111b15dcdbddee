import { parseUpdateInfo } from "electron-updater/out/providers/Provider.js";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { expect } from "vitest";
import { get } from "@/tests/support/api";
import { BASE_URL } from "@/tests/support/context";
import { type EntryFields, manifestEntry, remoteArtifact } from "@/tests/support/releases/entries";

export const WINDOWS = "platform=windows&product=core&architecture=x64";
export const MACOS = "platform=macos&product=core&architecture=arm64";

/** Text that a feed has to contain unharmed: markup, ends of CDATA, controls, YAML's and JavaScript's line ends, half a pair. */
export const HOSTILE =
  "a <b> & \"c\" 'd' ]]> --- : # \u0000\u0001\u000b\u007f\u0085\u2028\u2029\ufeff\ufffe \ud800 \u{1f680}\r\n- e";

export const MINISIGN = Buffer.from(
  `untrusted comment: x\n${"A".repeat(99)}=\ntrusted comment: file:a\n${"B".repeat(86)}==\n`,
).toString("base64");

export const ED_SIGNATURE = `${"C".repeat(86)}==`;

/** A text as a parser reads it from XML 1.0: U+FFFD for characters that XML does not allow, and LF for CRLF. */
export const inXml = (text: string) =>
  ["\u0000", "\u0001", "\u000b", "\ufffe"].reduce(
    (made, one) => made.replaceAll(one, "\ufffd"),
    text.toWellFormed().replaceAll("\r\n", "\n"),
  );

export const getFeed = (format: string, query: string, options?: Parameters<typeof get>[1]) =>
  get(`/api/version?${query}&format=${format}`, options);

export const problemOf = async (response: Response) => ({ status: response.status, ...(await response.json()) });

/** Expects that no release was found; with `named`, for a reason that names it. */
export async function expectNoRelease(response: Response, named?: string): Promise<void> {
  const detail = named === undefined ? {} : { detail: expect.stringContaining(named) };
  expect(await problemOf(response)).toMatchObject({ status: 404, code: "release_not_found", ...detail });
}

export const getElectronFeed = async (query: string) => {
  const response = await getFeed("electron", query);
  return parseUpdateInfo(await response.text(), "latest.yml", new URL(response.url || BASE_URL));
};

type Item = Record<string, unknown> & { enclosure: Record<string, string> };

/** The items of a Sparkle feed of core, which has to be well-formed. */
export const parseAppcast = (text: string): Item[] => {
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
  return rss.channel.item ?? [];
};

export const getAppcast = async (query: string) => parseAppcast(await (await getFeed("sparkle", query)).text());

/** A release with an update of this file name, signed for Sparkle. */
export const updatable = (fileName: string, change: EntryFields = {}, artifact: EntryFields = {}) =>
  manifestEntry({
    platform: fileName.endsWith(".exe") ? "windows" : "macos",
    architecture: fileName.endsWith(".exe") ? "x64" : "universal",
    artifacts: { update: remoteArtifact({ fileName, edSignature: ED_SIGNATURE, ...artifact }) },
    ...change,
  });
