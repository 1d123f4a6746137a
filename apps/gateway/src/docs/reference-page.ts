import { DOCS_LINKS } from './problem-pages.js';

/** The page at /docs: Scalar from the pinned package, no script and no style from anywhere else. */
export const REFERENCE_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fiscal receipt gateway: API</title>
<link rel="stylesheet" href="/docs/docs.css">
<link rel="icon" type="image/svg+xml" href="/docs/icon.svg">
</head>
<body class="reference">
${DOCS_LINKS.text}
<noscript>The description as OpenAPI: <a href="/openapi.json">/openapi.json</a></noscript>
<div id="api"></div>
<script src="/docs/scalar.js"></script>
<script src="/docs/docs.js"></script>
</body>
</html>
`;

/**
 * Plain JavaScript for the browser. The description as it is served, with what only this page needs: requests go to where the page
 * comes from (its policy allows no other address, and people also open the gateway by other names than PUBLIC_URL); a token may be
 * pasted; each operation carries its examples.
 */
export const REFERENCE_SCRIPT = `'use strict';
const LANGUAGES = { curl: 'Shell', node: 'Node.js', python: 'Python', php: 'PHP' };
const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

const read = (address) => fetch(address).then((answer) => answer.json());

const forThisPage = (description, samples) => {
  const schemes = description.components.securitySchemes;
  const token = { type: 'http', scheme: 'bearer', description: 'A token that POST /oauth/token gave, or that was shown to you.' };
  const { clientCredentials } = schemes.oauth2.flows;
  clientCredentials.tokenUrl = clientCredentials.refreshUrl = location.origin + '/oauth/token';
  // All that the client has, as for a request that names no scope.
  clientCredentials['x-default-scopes'] = [];
  for (const [path, operations] of Object.entries(description.paths))
    for (const method of METHODS.filter((one) => one in operations)) {
      const operation = operations[method];
      const asked = operation.security ?? description.security;
      if (asked.some((one) => 'oauth2' in one)) operation.security = [...asked, { token: [] }];
      const texts = samples[method.toUpperCase() + ' ' + path];
      if (texts)
        operation['x-codeSamples'] = Object.keys(LANGUAGES).map((name) =>
          ({ lang: name === 'curl' ? 'shell' : name, label: LANGUAGES[name], source: texts[name] }));
    }
  return {
    ...description,
    servers: [{ url: location.origin, description: 'This gateway' }],
    security: [...description.security, { token: [] }],
    components: { ...description.components, securitySchemes: { oauth2: schemes.oauth2, token, ...schemes } },
  };
};

Promise.all([read('/openapi.json'), read('/docs/code-samples.json')]).then(([description, samples]) =>
  Scalar.createApiReference('#api', {
    content: forThisPage(description, samples),
    hiddenClients: true,
    // Nothing of what a person types here stays in the browser, and nothing is asked of or reported to another host.
    persistAuth: false,
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    showDeveloperTools: 'never',
    hideClientButton: true,
    documentDownloadType: 'none',
    expandAllParameters: false,
  }));
`;
