"""The paper's figures and tables, one short file each: its runs and its drawing."""
