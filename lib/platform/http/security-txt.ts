import type { Context } from "../../context";
import { AppError } from "../../errors";
import { operation } from "../../operation";
import { RouteResponse } from "../http-message";

type Deps = Pick<Context, "config" | "now">;

const DAY_MS = 24 * 60 * 60 * 1000;
/** RFC 9116 recommends less than a year. Each response begins anew: the setting is as current as the service. */
const VALID_DAYS = 90;

/** Where vulnerabilities are reported to (RFC 9116). @throws AppError not_found if SECURITY_CONTACT is not set */
function securityTxt({ config: { SECURITY_CONTACT, baseUrl }, now }: Deps): string {
  if (SECURITY_CONTACT.length === 0) throw new AppError("not_found");
  const today = now().setUTCHours(0, 0, 0, 0);
  const fields = [
    ...SECURITY_CONTACT.map((uri) => `Contact: ${uri}`),
    `Expires: ${new Date(today + VALID_DAYS * DAY_MS).toISOString()}`,
    `Canonical: ${baseUrl}/.well-known/security.txt`,
  ];
  return fields.map((field) => `${field}\n`).join("");
}

const EXAMPLE = `Contact: mailto:security@example.com
Expires: 2027-02-27T00:00:00.000Z
Canonical: https://api.example.com/.well-known/security.txt
`;

export const securityTxtOperations = {
  getSecurityTxt: operation({
    id: "getSecurityTxt",
    summary: "Find out where to report a vulnerability",
    description: "The contacts in `SECURITY_CONTACT` (RFC 9116). 404 if there are none.",
    database: false,
    errors: ["not_found"],
    writes: "raw",
    response: {
      status: 200,
      description: "The contacts.",
      schema: null,
      content: { "text/plain": { schema: { type: "string" }, examples: { "One contact": EXAMPLE } } },
    },
    run: ({ ctx }) => {
      const text = securityTxt(ctx);
      return new RouteResponse(200, text, {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": String(Buffer.byteLength(text)),
        "Cache-Control": "public, max-age=3600",
      });
    },
  }),
};
