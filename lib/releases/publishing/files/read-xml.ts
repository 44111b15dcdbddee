import { XMLParser } from "fast-xml-parser";
import { z } from "zod";
import { unescapeXml } from "../../../platform/unescape-xml";

/** Manifests have five levels. */
const MAX_NESTING = 20;

/** Entities stay as they are: those that a document defines are never expanded. */
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  removeNSPrefix: true,
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: false,
  maxNestedTags: MAX_NESTING,
});

/** Parses XML in linear time: elements without namespaces, attributes as "@name", text not unescaped. @throws Error */
export function parseXml(bytes: Uint8Array): unknown {
  return parser.parse(new TextDecoder().decode(bytes));
}

/** The text of an element, which may have attributes, be repeated, or be empty. */
export const XmlText = z.preprocess((value) => {
  const [first] = Array.isArray(value) ? value : [value];
  const text: unknown =
    typeof first === "object" && first !== null ? (first as Record<string, unknown>)["#text"] : first;
  return typeof text === "string" ? unescapeXml(text).trim() : undefined;
}, z.string().optional());

/** The value of an attribute. */
export const XmlAttribute = z.string().transform(unescapeXml);

/** Elements of one name, of which there may be none or one. */
export const xmlList = <T extends z.ZodType>(entry: T) =>
  z.preprocess(
    (value) => (value === undefined || value === "" ? [] : Array.isArray(value) ? value : [value]),
    z.array(entry),
  );
