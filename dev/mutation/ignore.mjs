import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** What a function that reads or writes takes: the context or a part of it, a database or a transaction. */
const CONTEXTS = /^(ctx|deps|db|tx)$/;
/** Members that are for people to read. */
const WORDS = new Set(["detail", "advice", "message"]);

/** Leaves out what decides nothing: statements of the database and functions around them, and texts for people. */
const shouldIgnore = ({ node, parent }) => {
  if (node.type === "TaggedTemplateExpression") return "a statement of the database";
  if (node.async && node.params?.some(takesContext)) return "reads or writes";
  if (isForPeople(parent) && parent.value === node) return "a text for people";
  if (node.type === "ObjectExpression" && node.properties.length > 0 && node.properties.every(isForPeople))
    return "a text for people";
  if (node.type === "CallExpression" && node.callee.property?.name === "describe") return "a text for people";
  return undefined;
};

function isForPeople(node) {
  return node?.type === "ObjectProperty" && WORDS.has(node.key.name);
}

function takesContext(parameter) {
  if (parameter.type === "Identifier") return CONTEXTS.test(parameter.name);
  return parameter.type === "ObjectPattern" && parameter.properties.some(({ key }) => CONTEXTS.test(key?.name ?? ""));
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, "no-decision", { shouldIgnore })];
