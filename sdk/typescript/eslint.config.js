import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['src/generated/', 'dist/', 'build/', 'node_modules/'] },
  js.configs.recommended,
  ts.configs.recommended,
  prettier,
  {
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-undef': 'off', // TypeScript checks names
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
);
