import { z } from "zod";
import { operation } from "../../operation";
import { networkOf } from "../audit/security-events";
import { parseJson } from "./body";
import { parseBody } from "./validation";

/** Of one request. A browser sends the reports of a minute together. */
const MAX_REPORTS = 20;
const MAX_LENGTH = 200;

const Text = z.string().catch("");
/** Reporting API, "Report delivery": `application/reports+json`. */
const Report = z.object({
  type: z.literal("csp-violation"),
  body: z.object({ effectiveDirective: Text, blockedURL: Text, documentURL: Text }),
});
/** Content Security Policy Level 3, section 5.3, which Firefox sends: `application/csp-report`. */
const OldReport = z
  .object({
    "csp-report": z.object({
      "effective-directive": Text,
      "violated-directive": Text,
      "blocked-uri": Text,
      "document-uri": Text,
    }),
  })
  .transform(
    ({ "csp-report": report }): z.infer<typeof Report> => ({
      type: "csp-violation",
      body: {
        effectiveDirective: report["effective-directive"] || report["violated-directive"],
        blockedURL: report["blocked-uri"],
        documentURL: report["document-uri"],
      },
    }),
  );
/** Other types of reports are ignored. */
const Reports = z.union([OldReport.transform((report) => [report]), z.array(z.unknown()).max(MAX_REPORTS)]);

/** What a URL says without its query and fragment, which may hold secrets. Not a URL: "inline", "eval" and the like. */
function withoutQuery(url: string): string {
  return (url.split(/[?#]/, 1)[0] ?? "").slice(0, MAX_LENGTH);
}

const EXAMPLE = {
  type: "csp-violation",
  body: { effectiveDirective: "script-src-elem", blockedURL: "inline", documentURL: "https://api.example.com/account" },
};
const OLD_EXAMPLE = {
  "effective-directive": "script-src-elem",
  "blocked-uri": "inline",
  "document-uri": "https://api.example.com/account",
};

export const cspReportOperations = {
  reportCspViolation: operation({
    id: "reportCspViolation",
    summary: "Report a violation of a page's Content-Security-Policy",
    description:
      "Browsers send these reports, as `application/reports+json` or `application/csp-report`. Each one is a warning in the log, without queries and fragments of URLs.",
    bodyFormat: "raw",
    database: false,
    errors: ["malformed_json", "validation_failed"],
    requestBody: {
      required: true,
      content: {
        "application/reports+json": { schema: z.array(Report), examples: { "A script": [EXAMPLE] } },
        "application/csp-report": {
          schema: { type: "object" },
          examples: { "A script": { "csp-report": OLD_EXAMPLE } },
        },
      },
    },
    limit: "cspReportByIp",
    response: { status: 204, description: "The reports were logged.", schema: null },
    run: ({ bytes, log, ip }) => {
      const reports = parseBody(Reports, parseJson(bytes));
      for (const { body } of reports.flatMap((report) => Report.safeParse(report).data ?? [])) {
        const directive = body.effectiveDirective.slice(0, MAX_LENGTH);
        const where = { blocked: withoutQuery(body.blockedURL), page: withoutQuery(body.documentURL) };
        log.warn({ directive, ...where, network: networkOf(ip) }, "a page's Content-Security-Policy was violated");
      }
    },
  }),
};
