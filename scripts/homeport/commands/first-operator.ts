import type { DefineCommandGroup } from "../command";

/** `homeport first-operator`. */
export const defineFirstOperator: DefineCommandGroup = (command) => {
  command.run(async ({ api, output }) => {
    const link = await api.call("requestFirstOperatorLink", {});
    output.result(link, [link.url]);
    if (!output.isJson) output.note(`Open the link within ${link.ttlSeconds / 60} minutes. It works once.`);
  });
};
