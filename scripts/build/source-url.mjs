/** Where the files of a version are on the web, from the fields of package.json. Leads to GitHub's pages of files. */
export const sourceUrl = ({ repository, version }) =>
  `${repository.url.replaceAll(/^git\+|\.git$/g, "")}/blob/v${version}`;
