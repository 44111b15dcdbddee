import { createPublicKey, verify } from "node:crypto";
import { XMLParser } from "fast-xml-parser";
import { get } from "@/tests/support/api";
import { STABLE } from "@/tests/support/releases/updates";

/** What an app's Info.plist says to Sparkle 2.9, and what is installed. */
export type SparkleApp = {
  edKey: string;
  /** CFBundleVersion. */
  build: string;
  requiresSignedFeed?: boolean;
  clientId?: string;
};

type Item = Record<string, unknown> & { enclosure: Record<string, string> };

const PREFIX = Buffer.from("<!-- sparkle-signatures:\n");

/** Splits a feed as `SPUExtractAppcastContent` does (SPUExtractSignedFeed.m). */
function extractContent(feed: Buffer): { content: Buffer; edSignature: string | undefined } {
  const start = feed.lastIndexOf(PREFIX);
  const end = start < 0 ? -1 : feed.indexOf("-->", start + PREFIX.length);
  if (end < 0) return { content: feed, edSignature: undefined };
  const lines = feed.toString("utf8", start + PREFIX.length, end).split("\n");
  const edSignature = lines.findLast((line) => line.startsWith("edSignature:"));
  return { content: feed.subarray(0, start), edSignature: edSignature?.slice("edSignature:".length).trim() };
}

/** Verifies Ed25519 with a key as SUPublicEDKey has it. */
function isSigned(bytes: Uint8Array, edSignature: string | undefined, edKey: string): boolean {
  const signature = Buffer.from(edSignature ?? "", "base64");
  const key = {
    format: "jwk",
    key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(edKey, "base64").toString("base64url") },
  };
  return signature.length === 64 && verify(null, bytes, createPublicKey(key as never), signature);
}

/** The content of a feed that an app with SURequireSignedFeed accepts; null for one that it refuses. */
export function acceptFeed(feed: Buffer, { edKey, requiresSignedFeed = true }: SparkleApp): Buffer | null {
  const { content, edSignature } = extractContent(feed);
  return !requiresSignedFeed || isSigned(content, edSignature, edKey) ? content : null;
}

const requestFeed = ({ build, clientId }: SparkleApp) =>
  get(`${STABLE}/appcast.xml${clientId === undefined ? "" : `?clientId=${clientId}`}`, {
    headers: { "user-agent": `Acme/${build} Sparkle/2.9.6` },
  });

/** The bytes of the feed that an app gets. */
export const getAppcastFeed = async (app: SparkleApp): Promise<Buffer> =>
  Buffer.from(await (await requestFeed(app)).arrayBuffer());

/**
 * Checks for an update as Sparkle does (SUAppcastDriver.m): verifies the feed, takes the newest item, and verifies its
 * archive. Returns the build that it would install, or why it installs none.
 */
export async function checkForUpdate(app: SparkleApp): Promise<string> {
  const response = await requestFeed(app);
  if (response.status !== 200) return `no feed: ${response.status}`;
  const content = acceptFeed(Buffer.from(await response.arrayBuffer()), app);
  if (!content) return "feed refused";
  const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: "", parseTagValue: false });
  const items = [parser.parse(content).rss.channel.item ?? []].flat() as Item[];
  const [newest] = items.sort((a, b) => Number(b["sparkle:version"]) - Number(a["sparkle:version"]));
  if (!newest || Number(newest["sparkle:version"]) <= Number(app.build)) return "up to date";
  const { pathname, search } = new URL(newest.enclosure.url ?? "");
  const archive = await get(pathname + search);
  if (archive.status !== 200) return `no archive: ${archive.status}`;
  const bytes = new Uint8Array(await archive.arrayBuffer());
  return isSigned(bytes, newest.enclosure["sparkle:edSignature"], app.edKey)
    ? String(newest["sparkle:version"])
    : "archive refused";
}
